"""Annif's REST API, as the package annif-client calls it: https://api.annif.org/v1/ui/"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from zipfel import __version__
from zipfel.serve.api_v1 import json_response
from zipfel.serve.core import Service
from zipfel.serve.errors import RequestError
from zipfel.serve.schemas import EXAMPLE
from zipfel.serve.served import Answered, Labels, Scored, ServedModel, Wish

MAX_DOCUMENTS = 32
LIMIT = 10
"""Annif's number of suggestions where the client names none."""


class Document(BaseModel):
    """One document of a batch."""

    text: str
    document_id: str | None = None
    metadata: dict[str, Any] | None = None


class Batch(BaseModel):
    """What suggest-batch takes."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"documents": [{"text": EXAMPLE, "document_id": "1"}, {"text": "a text editor"}]}]
        }
    )
    documents: list[Document] = Field(max_length=MAX_DOCUMENTS)


class Subject(BaseModel):
    """A subject of a document to learn from, by identifier or by name."""

    uri: str | None = None
    label: str | None = None


class Tagged(BaseModel):
    """A document to learn from."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": EXAMPLE, "subjects": [{"uri": "web::browser"}]}]}
    )
    text: str
    subjects: list[Subject]
    metadata: dict[str, Any] | None = None


def project_facts(served: ServedModel) -> dict[str, Any]:
    model, labels = served.snapshot.model, served.snapshot.labels
    language = labels.languages[0] if labels.languages else "en"
    return {
        "project_id": served.name,
        "name": served.name,
        "language": language,
        "backend": {"backend_id": f"zipfel-{model.method}"},
        "vocab": vocab_facts(served),
        "vocab_language": language,
        "is_trained": True,
        "modification_time": None,
    }


def vocab_facts(served: ServedModel) -> dict[str, Any]:
    labels = served.snapshot.labels
    return {"vocab_id": served.name, "languages": labels.languages or ["en"], "size": len(labels), "loaded": True}


def suggestions(labels: Labels, row: Scored, language: str | None) -> list[dict[str, Any]]:
    return [
        {
            "uri": labels.identifier(label),
            "label": labels.name(label, language),
            "notation": labels.notation(label),
            "score": score,
        }
        for label, score in row
    ]


_FIELDS = {
    "text": {"type": "string"},
    "limit": {"type": "integer", "minimum": 1, "default": LIMIT},
    "threshold": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
    "language": {"type": "string"},
}
FORM = {
    "schema": {
        "type": "object",
        "required": ["text"],
        "properties": _FIELDS,
        "examples": [{"text": EXAMPLE, "limit": 5, "threshold": 0.1}],
    }
}
FORM_BODY = {"requestBody": {"content": {"application/x-www-form-urlencoded": FORM}, "required": True}}


def router(service: Service) -> APIRouter:
    api = APIRouter(prefix="/v1", tags=["Annif"])
    _add_descriptions(api, service)
    _add_suggestions(api, service)

    @api.post("/projects/{name}/learn", status_code=204)
    async def learn(name: str, body: list[Tagged]) -> Response:
        """Adds documents with their subjects. As in Annif, a subject that the vocabulary lacks is left out."""
        served = service.model(name)
        texts, tags = tagged(served.snapshot.labels, body)
        await service.learn(served, texts, tags)
        return Response(status_code=204)

    @api.post("/detect-language")
    async def detect_language() -> Response:
        """Languages are not detected."""
        raise RequestError(404, "this service does not detect languages")

    return api


def _add_descriptions(api: APIRouter, service: Service) -> None:
    @api.get("/")
    async def info() -> Response:
        """Title and version, as Annif tells them."""
        return json_response({"title": "zipfel (Annif REST API)", "version": __version__})

    @api.get("/projects")
    async def projects() -> Response:
        """Each model is a project."""
        return json_response({"projects": [project_facts(served) for served in service.models.values()]})

    @api.get("/projects/{name}")
    async def project(name: str) -> Response:
        """One project."""
        return json_response(project_facts(service.model(name)))

    @api.get("/vocabs")
    async def vocabs() -> Response:
        """The vocabulary of each model."""
        return json_response({"vocabs": [vocab_facts(served) for served in service.models.values()]})


def _add_suggestions(api: APIRouter, service: Service) -> None:
    async def suggested(name: str, texts: list[str], limit: int, threshold: float) -> Answered:
        return await service.predict(service.model(name), texts, Wish(limit, threshold))

    @api.post("/projects/{name}/suggest", openapi_extra=FORM_BODY)
    async def suggest(name: str, request: Request) -> Response:
        """Suggestions for one text, from a form with `text`, `limit`, `threshold` and `language`."""
        service.model(name)
        fields = _form(await request.body())
        if "text" not in fields:
            raise RequestError(400, "the form has no field `text`")
        limit = _number(fields, "limit", LIMIT, 1, service.settings.max_k)
        threshold = _number(fields, "threshold", 0.0, 0.0, 1.0)
        answered = await suggested(name, [fields["text"]], int(limit), threshold)
        results = suggestions(answered.snapshot.labels, answered.rows[0], fields.get("language"))
        return json_response({"results": results})

    @api.post("/projects/{name}/suggest-batch")
    async def suggest_batch(
        name: str,
        body: Batch,
        limit: Annotated[int, Query(ge=1)] = LIMIT,
        threshold: Annotated[float, Query(ge=0, le=1)] = 0.0,
        language: str | None = None,
    ) -> Response:
        """Suggestions for up to 32 documents."""
        answered = await suggested(name, [document.text for document in body.documents], limit, threshold)
        results = [
            {"document_id": document.document_id, "results": suggestions(answered.snapshot.labels, row, language)}
            for document, row in zip(body.documents, answered.rows, strict=True)
        ]
        return json_response(results)


def tagged(labels: Labels, documents: Sequence[Tagged]) -> tuple[list[str], list[list[str]]]:
    """Texts and their labels; documents without a known subject are left out."""
    texts, tags = [], []
    for document in documents:
        keys = [key for subject in document.subjects for key in (subject.uri, subject.label) if key is not None]
        found = sorted({label for key in keys if (label := labels.position(key)) is not None})
        if found:
            texts.append(document.text)
            tags.append([labels.known[label] for label in found])
    return texts, tags


def _form(body: bytes) -> dict[str, str]:
    try:
        fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=20, errors="strict")
    except ValueError:
        raise RequestError(400, "the body must be a form in UTF-8: text=...&limit=...") from None
    return {name: values[-1] for name, values in fields.items()}


def _number(fields: dict[str, str], name: str, default: float, low: float, high: float) -> float:
    try:
        value = float(fields.get(name, default))
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise RequestError(400, f"{name} must be a number from {low:g} to {high:g}")
    return value
