"""Hugging Face's text classification: POST /predict and / with `inputs`, as `huggingface_hub` and TEI send it."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from zipfel.serve.api_v1 import json_response
from zipfel.serve.core import Service
from zipfel.serve.errors import RequestError
from zipfel.serve.schemas import EXAMPLE
from zipfel.serve.served import Answered, Wish


class Parameters(BaseModel):
    """`function_to_apply` and other parameters are accepted without effect: scores are always probabilities."""

    top_k: int | None = Field(None, ge=1)


class Inputs(BaseModel):
    """A text, a list of texts, or a list of lists of one text each."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"inputs": EXAMPLE, "parameters": {"top_k": 3}}]})
    inputs: str | list[str] | list[list[str]]
    parameters: Parameters | None = None


def texts_of(inputs: str | list[str] | list[list[str]]) -> list[str]:
    rows = [[inputs]] if isinstance(inputs, str) else [[row] if isinstance(row, str) else row for row in inputs]
    if not rows:
        raise RequestError(400, "`inputs` is empty: send at least one text")
    if any(len(row) != 1 for row in rows):
        raise RequestError(422, "pairs of texts are not classified: each inner list of `inputs` must have one text")
    return [text for (text,) in rows]


async def classify(service: Service, body: Inputs) -> Response:
    """A flat list for one text; a list of lists for several, and where `parameters` are sent."""
    top_k = body.parameters.top_k if body.parameters else None
    answered = await service.predict(service.model(), texts_of(body.inputs), Wish(top_k or service.settings.k))
    rows = _rows(answered)
    return json_response(rows[0] if isinstance(body.inputs, str) and body.parameters is None else rows)


def _rows(answered: Answered) -> list[list[dict[str, Any]]]:
    name = answered.snapshot.labels.name
    return [[{"label": name(label), "score": score} for label, score in row] for row in answered.rows]
