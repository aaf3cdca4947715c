"""The service as one FastAPI application: every protocol's routes, errors, health and metrics."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException

from zipfel import __version__
from zipfel.errors import ZipfelError
from zipfel.serve import annif, api_v1, huggingface, label_studio, page
from zipfel.serve.core import Service
from zipfel.serve.errors import RequestError, error_body
from zipfel.serve.gate import App, Gate

_DESCRIPTION = "Tags documents with the right few of many labels. Scores are probabilities."


def make_app(service: Service) -> App:
    """The ASGI application, its checks outermost."""
    app = FastAPI(title="zipfel", version=__version__, description=_DESCRIPTION, docs_url=None, redoc_url=None)
    app.include_router(annif.router(service))
    app.include_router(api_v1.router(service))
    app.include_router(page.router())
    _add_predict(app, service)
    _add_operations(app, service)
    _add_errors(app)
    outer: App = Gate(app, service)
    if service.settings.origins:
        outer = CORSMiddleware(
            outer,
            allow_origins=service.settings.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    return outer


def _add_predict(app: FastAPI, service: Service) -> None:
    """/predict is Hugging Face's with `inputs` and Label Studio's with `tasks`; / is Hugging Face's."""

    @app.post("/predict", tags=["Hugging Face", "Label Studio"])
    async def predict(body: huggingface.Inputs | label_studio.Tasks) -> Response:
        """`inputs`: Hugging Face's text classification. `tasks`: Label Studio's ML backend."""
        if isinstance(body, huggingface.Inputs):
            return await huggingface.classify(service, body)
        return await label_studio.annotate(service, body)

    @app.post("/", tags=["Hugging Face"])
    async def classify(body: huggingface.Inputs) -> Response:
        """The same as /predict with `inputs`."""
        return await huggingface.classify(service, body)

    @app.post("/setup", tags=["Label Studio"])
    async def setup(body: label_studio.Project) -> Response:
        """Label Studio announces a project."""
        return label_studio.setup(service, body)


def _add_operations(app: FastAPI, service: Service) -> None:
    @app.get("/health", tags=["Label Studio"])
    async def health() -> Response:
        """Label Studio asks whether the backend is up."""
        return label_studio.health()

    @app.get("/healthz", tags=["operations"])
    async def healthz() -> Response:
        """200 while the process answers at all."""
        return Response("ok\n", media_type="text/plain")

    @app.get("/readyz", tags=["operations"])
    async def readyz() -> Response:
        """200 once all models are loaded, 503 before and while the service stops."""
        return Response("ok\n" if service.ready else "not ready\n", 200 if service.ready else 503)

    @app.get("/metrics", tags=["operations"])
    async def metrics() -> Response:
        """Prometheus' text format."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


def _add_errors(app: FastAPI) -> None:
    def answer(request: Request, error: RequestError) -> Response:
        body, kind = error_body(request.url.path, error, request.state.request_id)
        return Response(body, error.status, error.headers, kind)

    @app.exception_handler(RequestError)
    async def refused(request: Request, error: RequestError) -> Response:
        return answer(request, error)

    @app.exception_handler(ZipfelError)
    async def wrong(request: Request, error: ZipfelError) -> Response:
        return answer(request, RequestError(422, str(error)))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return answer(request, RequestError(422, _sentence(error.errors())))

    @app.exception_handler(HTTPException)
    async def failed(request: Request, error: HTTPException) -> Response:
        return answer(request, RequestError(error.status_code, str(error.detail)))


def _sentence(errors: Any) -> str:
    """What is wrong with a body, without what it holds."""
    first = [f"{'.'.join(str(part)[:40] for part in e['loc'])}: {e['msg']}"[:200] for e in list(errors)[:3]]
    return "; ".join(first) or "the request can't be read"
