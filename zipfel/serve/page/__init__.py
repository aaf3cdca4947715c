"""The page at `/` and the description of the API at `/docs`, as they lie here: no build step and no other host."""

from __future__ import annotations

import hashlib
from importlib import resources

from fastapi import APIRouter, Request, Response

from zipfel.serve.errors import RequestError

TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def read_files() -> dict[str, tuple[bytes, str, str]]:
    """(content, media type, tag) of each file of this folder, by name."""
    found = {}
    for file in resources.files(__package__).iterdir():
        kind = TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None:
            data = file.read_bytes()
            found[file.name] = (data, f"{kind}; charset=utf-8", f'"{hashlib.sha256(data).hexdigest()[:16]}"')
    return found


def router() -> APIRouter:
    api = APIRouter(include_in_schema=False)
    files = read_files()

    def answer(request: Request, name: str) -> Response:
        if name not in files:
            raise RequestError(404, "the page has no such file")
        data, kind, tag = files[name]
        headers = {"cache-control": "no-cache", "etag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(data, headers=headers, media_type=kind)

    @api.get("/")
    async def index(request: Request) -> Response:
        return answer(request, "index.html")

    @api.get("/docs")
    async def docs(request: Request) -> Response:
        return answer(request, "docs.html")

    @api.get("/page/{name}")
    async def file(request: Request, name: str) -> Response:
        return answer(request, name)

    @api.get("/favicon.ico")
    async def icon(request: Request) -> Response:
        return answer(request, "icon.svg")

    return api
