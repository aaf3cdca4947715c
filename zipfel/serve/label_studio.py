"""Label Studio's ML backend: /setup, /predict with `tasks`, /health."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from zipfel import __version__
from zipfel.serve.api_v1 import json_response
from zipfel.serve.core import Service
from zipfel.serve.errors import RequestError
from zipfel.serve.schemas import EXAMPLE
from zipfel.serve.served import Wish

MAX_CONFIG = 200_000
_KINDS = {"Choices": "choices", "Taxonomy": "taxonomy"}


class Task(BaseModel):
    """A document to pre-annotate."""

    id: int | str | None = None
    data: dict[str, Any]


class Tasks(BaseModel):
    """What Label Studio sends to /predict."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"tasks": [{"id": 1, "data": {"text": EXAMPLE}}]}]})
    tasks: list[Task]
    label_config: str | None = Field(None, max_length=MAX_CONFIG)
    project: str | int | None = None
    model_version: str | None = None
    params: dict[str, Any] | None = None


class Project(BaseModel):
    """What Label Studio sends to /setup."""

    project: str | int | None = None
    label_config: str | None = Field(None, alias="schema", max_length=MAX_CONFIG)


@dataclass(frozen=True)
class Control:
    """Which tag of the labelling interface takes the labels, and where the text of a task is.

    choices: the values that the interface lists; empty where it takes any.
    """

    from_name: str = "tags"
    to_name: str = "text"
    kind: str = "choices"
    field: str = "text"
    choices: frozenset[str] = frozenset()


def read_control(config: str | None) -> Control:
    """The first Choices or Taxonomy of the labelling interface, with the Text that it belongs to.

    >>> view = '<View><Text name="t" value="$body"/><Choices name="c" toName="t" choice="multiple"/></View>'
    >>> control = read_control(view)
    >>> control.from_name, control.to_name, control.field
    ('c', 't', 'body')
    """
    if not config:
        return Control()
    if "<!" in config.replace("<!--", ""):
        raise RequestError(422, "label_config may not have a document type or entities: send plain XML")
    try:
        root = ElementTree.fromstring(config)
    except (ElementTree.ParseError, ValueError):
        raise RequestError(422, "label_config is not XML") from None
    control = next((tag for tag in root.iter() if tag.tag in _KINDS and tag.get("name")), None)
    if control is None:
        raise RequestError(422, "label_config has no Choices and no Taxonomy that could take labels")
    to_name = control.get("toName", "text")
    source = next((tag for tag in root.iter() if tag.get("name") == to_name and tag is not control), None)
    field = "text" if source is None else source.get("value", "$text").lstrip("$")
    listed = frozenset(tag.get("value", "") for tag in control.iter("Choice"))
    return Control(control.get("name", ""), to_name, _KINDS[control.tag], field, listed)


async def annotate(service: Service, body: Tasks) -> Response:
    """Labels for each task, in the form of Label Studio's predictions."""
    control, served = read_control(body.label_config), service.model()
    texts = [_text(task, control.field) for task in body.tasks]
    most = min(service.settings.max_k, service.settings.max_answered // max(1, len(texts)))
    k = most if control.choices else service.settings.k
    answered = await service.predict(served, texts, Wish(k))
    labels, version = answered.snapshot.labels, f"{served.name}-{answered.snapshot.version}"
    results = []
    for row in answered.rows:
        named = [(labels.name(label), score) for label, score in row]
        kept = [(name, score) for name, score in named if not control.choices or name in control.choices]
        results.append(_prediction(control, kept[: service.settings.k], version))
    return json_response({"results": results, "model_version": version})


def _prediction(control: Control, labels: list[tuple[str, float]], version: str) -> dict[str, Any]:
    names = [name for name, _ in labels]
    best = max((score for _, score in labels), default=0.0)
    value = {control.kind: [[name] for name in names] if control.kind == "taxonomy" else names}
    region = {"from_name": control.from_name, "to_name": control.to_name, "type": control.kind, "value": value}
    return {"result": [region | {"score": best}], "score": best, "model_version": version}


def _text(task: Task, field: str) -> str:
    """The text of a task; where the interface's field is missing, the only string that it has."""
    strings = [value for value in task.data.values() if isinstance(value, str)]
    text = task.data.get(field, strings[0] if len(strings) == 1 else None)
    if not isinstance(text, str):
        raise RequestError(422, f"a task has no text in its field {field!r:.60}")
    return text


def setup(service: Service, body: Project) -> Response:
    """Checks the labelling interface and tells the version of the model."""
    read_control(body.label_config)
    served = service.model()
    return json_response({"model_version": f"{served.name}-{served.snapshot.version}"})


def health() -> Response:
    return json_response({"status": "UP", "model_class": "Zipfel", "version": __version__})
