"""Bodies of requests and answers, as pydantic checks them and OpenAPI shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(description="One document.")]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Objective = Literal["precision", "recall", "micro-f1", "macro-f1", "psp", "coverage"]
Value = Annotated[float, Field(allow_inf_nan=False)]

EXAMPLE = "A fast and small web browser for the terminal"


class Body(BaseModel):
    """A request's body: a key that is not known is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Documents(Body):
    """Exactly one of `text`, `texts` and `rows`."""

    text: str | None = None
    texts: list[str] | None = None
    rows: list[dict[str, Value]] | None = Field(None, description="For models of ready-made features: value by name.")
    model: str | None = Field(None, description="Name of the model; the first one where it is left out.")
    k: int | None = Field(None, description="Labels a document.")
    language: str | None = Field(None, description="Language of the labels' names, where the vocabulary has several.")


class PredictBody(Documents):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": EXAMPLE, "k": 5}, {"texts": [EXAMPLE, "a text editor"]}]}
    )
    threshold: Share | Literal["auto", "auto:document"] = Field(
        0.0, description="Labels with a smaller probability are left out; `auto`: the model's own thresholds."
    )
    optimise: Objective | None = Field(None, description="Choose the k labels that are best by this metric.")


class ExplainBody(Documents):
    model_config = ConfigDict(json_schema_extra={"examples": [{"text": EXAMPLE, "labels": ["web::browser"]}]})
    labels: list[str] | None = Field(None, description="Explain these labels instead of the k best.", max_length=100)


class TaggedText(Body):
    """A document to learn from."""

    text: str
    labels: list[str] = Field(min_length=1, max_length=1000, description="Identifiers or names.")


class UpdateBody(Body):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"documents": [{"text": EXAMPLE, "labels": ["web::browser"]}]}]}
    )
    documents: list[TaggedText] = Field(min_length=1)
    model: str | None = None
    new_labels: bool = Field(False, description="Take labels in that the model does not know.")


class FeedbackBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"text": EXAMPLE, "accepted": ["web::browser"]}]})
    text: str
    accepted: list[str] = Field(default_factory=list, max_length=1000)
    rejected: list[str] = Field(default_factory=list, max_length=1000)
    withdrawn: list[str] = Field(default_factory=list, max_length=1000)
    model: str | None = None


class Label(BaseModel):
    """A label of a document."""

    id: str
    name: str
    score: float


class Labelled(BaseModel):
    """One document's labels, best first."""

    labels: list[Label]


class Prediction(BaseModel):
    """One result a document, in the order of the request."""

    model: str
    results: list[Labelled]


class Found(BaseModel):
    """Labels whose name matches."""

    model: str
    labels: list[dict[str, Any]]
