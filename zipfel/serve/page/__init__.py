"""The page at `/`: index.html, style.css and app.js, as they are; no build step and no other host."""

from __future__ import annotations

from importlib import resources

from fastapi import APIRouter, Response

from zipfel.serve.errors import RequestError

FILES = {"index.html": "text/html", "app.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}
"""What is served, and its media type."""


def router() -> APIRouter:
    api = APIRouter(include_in_schema=False)
    files = {name: (resources.files(__package__) / name).read_bytes() for name in FILES}

    def answer(name: str) -> Response:
        headers = {"cache-control": "no-cache"}
        return Response(files[name], headers=headers, media_type=f"{FILES[name]}; charset=utf-8")

    @api.get("/")
    async def index() -> Response:
        return answer("index.html")

    @api.get("/page/{name}")
    async def file(name: str) -> Response:
        if name not in files:
            raise RequestError(404, "the page has no such file")
        return answer(name)

    @api.get("/favicon.ico")
    async def icon() -> Response:
        return answer("icon.svg")

    return api
