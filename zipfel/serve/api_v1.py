"""Our own API: /v1/predict, /v1/explain, /v1/labels, /v1/models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response

from zipfel.serve.card import model_card, model_facts
from zipfel.serve.core import Service
from zipfel.serve.errors import RequestError
from zipfel.serve.schemas import Documents, ExplainBody, FeedbackBody, Found, PredictBody, Prediction, UpdateBody
from zipfel.serve.served import Document, Labels, ServedModel, WhyAnswered, Wish


def json_response(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY), status, media_type="application/json")


def documents_of(body: Documents) -> Sequence[Document]:
    given = [value for value in (body.text, body.texts, body.rows) if value is not None]
    if len(given) != 1:
        raise RequestError(422, "send exactly one of `text`, `texts` and `rows`")
    return [given[0]] if isinstance(given[0], str) else given[0]


def label_fact(labels: Labels, label: int, language: str | None = None) -> dict[str, Any]:
    return {"id": labels.identifier(label), "name": labels.name(label, language)}


def explanation(served: ServedModel, why: WhyAnswered, language: str | None = None) -> dict[str, Any]:
    """The words of the document; for each label what they, each kind of evidence and the nearest documents added.

    `score` is the probability (null for a label far from the best ones). `sum` is what the evidence adds up to.
    """
    labels, openings, found = why.snapshot.labels, served.openings, why.explained
    told = []
    for key, added in found.contributions.items():
        label = labels.position(key)
        fact = label_fact(labels, label, language) if label is not None else {"id": key, "name": key}
        nearest = [
            {
                "row": voter.row,
                "added": voter.added,
                "words": list(voter.shared),
                "opening": openings[voter.row] if voter.row < len(openings) else None,
            }
            for voter in found.voters.get(key, ())
        ]
        told.append(
            fact
            | {
                "score": None if label is None else why.probabilities.get(label),
                "sum": found.scores.get(key),
                "evidence": dict(found.evidence.get(key, {})),
                "contributions": list(added),
                "nearest": nearest,
            }
        )
    pieces = [{"text": piece, "words": list(places)} for piece, places in found.pieces]
    return {"model": served.name, "words": list(found.words), "pieces": pieces, "labels": told}


def router(service: Service) -> APIRouter:
    api = APIRouter(prefix="/v1", tags=["zipfel"])

    @api.post("/predict", response_model=Prediction)
    async def predict(body: PredictBody) -> Response:
        """Labels of one document or of several, with probabilities, best first."""
        if body.optimise is not None and body.threshold:
            raise RequestError(422, "`threshold` and `optimise` are two ways to choose labels: send one of them")
        served = service.model(body.model)
        wish = Wish(service.settings.k if body.k is None else body.k, body.threshold, body.optimise)
        answered = await service.predict(served, documents_of(body), wish)
        labels = answered.snapshot.labels
        results = [
            {"labels": [label_fact(labels, label, body.language) | {"score": score} for label, score in row]}
            for row in answered.rows
        ]
        return json_response({"model": served.name, "results": results})

    @api.post("/explain")
    async def explain(body: ExplainBody) -> Response:
        """Why one document gets its labels: words, kinds of evidence, nearest training documents."""
        served, documents = service.model(body.model), documents_of(body)
        if len(documents) != 1:
            raise RequestError(422, f"one document at a time is explained, got {len(documents)}")
        why = await service.explain(served, documents[0], body.labels, body.k)
        return json_response(explanation(served, why, body.language))

    @api.get("/labels", response_model=Found)
    async def labels(
        query: Annotated[str, Query(min_length=1, max_length=200, examples=["browser"])],
        model: str | None = None,
        language: str | None = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> Response:
        """Labels with a name, or an alternative name, that begins with the query or has a word that does."""
        served = service.model(model)
        snapshot, found = await service.find_labels(served, query, language, limit)
        facts = [
            label_fact(snapshot.labels, label, language) | {"notation": snapshot.labels.notation(label)}
            for label in found
        ]
        return json_response({"model": served.name, "labels": facts})

    @api.get("/models")
    async def models() -> Response:
        """The models that are served; the first one answers where a request names none."""
        models = [model_facts(served) for served in service.models.values()]
        return json_response({"models": models, "learning": service.settings.learning, "k": service.settings.k})

    @api.get("/models/{name}")
    async def model(name: str) -> Response:
        """A model's card: method, parameters, training data, parts, metrics, reliability diagram."""
        return json_response(model_card(service.model(name)))

    _add_learning(api, service)
    return api


def _add_learning(api: APIRouter, service: Service) -> None:
    @api.post("/update")
    async def update(body: UpdateBody) -> Response:
        """Adds documents to a model; the answer comes when they are on disk and the new model answers."""
        served = service.model(body.model)
        before = served.snapshot
        labels = before.labels
        tags = [
            [label if body.new_labels and labels.position(label) is None else labels.known[service.label(before, label)]
             for label in document.labels] for document in body.documents
        ]  # fmt: skip
        snapshot = await service.learn(served, [document.text for document in body.documents], tags)
        facts = {"model": served.name, "added": len(tags), "new_labels": len(snapshot.labels) - len(labels)}
        return json_response(facts | {"n_documents": snapshot.model.training_["n_points"], "version": snapshot.version})

    @api.post("/feedback")
    async def feedback(body: FeedbackBody) -> Response:
        """Keeps which labels of a text were accepted and rejected, for `zipfel update --feedback`.

        `withdrawn` takes earlier verdicts on this text back.
        """
        if not body.accepted and not body.rejected and not body.withdrawn:
            raise RequestError(422, "send at least one label in `accepted`, `rejected` or `withdrawn`")
        served = service.model(body.model)
        kept = await service.keep_feedback(served, body.text, body.accepted, body.rejected, body.withdrawn)
        return json_response({"model": served.name, "kept": kept})
