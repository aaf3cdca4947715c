"""`zipfel serve`: models over HTTP."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zipfel.cli.console import say
from zipfel.cli.options import Encoder, Threads

if TYPE_CHECKING:
    from zipfel.data import Dataset
    from zipfel.serve.core import Service


def serve(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="Model folders, as FOLDER or NAME=FOLDER; the first answers."),
    ],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 listens on all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    train: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]FILE", help="Training data, to show how the nearest documents begin."),
    ] = None,
    examples: Annotated[
        list[str] | None, typer.Option(metavar="[NAME=]FILE", help="Texts that the page offers, one a line.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="Bearer tokens, one a line; ZIPFEL_TOKENS is read as well.")
    ] = None,
    feedback: Annotated[
        Path | None, typer.Option(metavar="DB", help="SQLite file for feedback (default: beside each model).")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Reload a model when its folder changes.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Learn nothing and keep no feedback.")] = False,
    allow_origin: Annotated[
        list[str] | None, typer.Option(metavar="ORIGIN", help="Let pages of this origin call the service (CORS).")
    ] = None,
    max_requests: Annotated[int, typer.Option(min=1, help="At the same time; further ones get 429.")] = 64,
    k: Annotated[int, typer.Option("-k", min=1, help="Labels a document, where a request does not say.")] = 5,
    encoder: Encoder = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No log line for each request.")] = False,
    threads: Threads = None,
) -> None:
    """Serve models over HTTP: a page, our own API, and those of Annif, Hugging Face and Label Studio.

    zipfel serve model --port 8000
    """
    from zipfel.persistence import read_config

    folders = named_folders(models)
    for folder in folders.values():
        read_config(folder)
    _import_extra()
    from zipfel.serve.core import Service
    from zipfel.serve.logs import log
    from zipfel.serve.settings import LOOPBACK, Settings, read_tokens

    settings = Settings(
        host=host, port=port, k=k, max_requests=max_requests, learning=not read_only, encoder=encoder,
        origins=tuple(allow_origin or ()),
    )  # fmt: skip
    tokens = read_tokens(token_file)
    if host not in LOOPBACK and not len(tokens):
        say(f"zipfel: warning: {host} may be reached from other machines and no token is set (--token-file)")
    log.requests = not quiet
    names = list(folders)
    offered = {name: read_examples(file) for name, file in named_files(examples or [], names, "--examples").items()}
    files = named_files(train or [], names, "--train")
    _run(Service(folders, settings, tokens, files, feedback, offered), threads, watch=watch)


def _import_extra() -> None:
    from importlib import import_module

    from zipfel.errors import MissingExtraError

    try:
        import_module("zipfel.serve.server")
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "serve", "zipfel serve") from None


def _run(service: Service, threads: int | None, *, watch: bool = False, browser: bool = False) -> None:
    """Serves until it is stopped. Where the user does not say how many threads predict, one core is left for requests
    and answers."""
    from zipfel.cli.stopping import in_main_thread
    from zipfel.serve.server import run
    from zipfel.system.threads import available_threads, set_threads

    set_threads(threads or max(1, available_threads() - 1))

    def tell(address: str) -> None:
        say(f"serving on {address}")
        if browser and _has_screen():
            webbrowser.open(address)

    in_main_thread(lambda: run(service, watch=watch, when_ready=tell))


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def serve_demo(folder: Path, train: Dataset, examples: Sequence[str], port: int) -> None:
    """Serves the model of the bundled data and opens its page. Ctrl-C ends it."""
    _import_extra()
    from zipfel.serve.core import Service
    from zipfel.serve.logs import log
    from zipfel.serve.settings import Settings

    log.requests = False
    name = folder.resolve().name
    service = Service({name: folder}, Settings(port=port), train={name: train}, examples={name: examples})
    say("Ctrl-C ends the service")
    _run(service, None, browser=True)


def read_examples(file: str, most: int = 8) -> list[str]:
    """Texts of a file, one a line."""
    from itertools import islice

    from zipfel.errors import DataError

    try:
        with Path(file).open(encoding="utf-8") as lines:
            return list(islice(filter(None, (line.strip()[:2000] for line in lines)), most))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the examples can't be read ({error})", path=Path(file)) from None


def named_folders(words: list[str]) -> dict[str, Path]:
    """Folder by name; the name is the folder's own where none is given."""
    from zipfel.errors import ParameterError

    found: dict[str, Path] = {}
    for word in words:
        name, equals, folder = word.partition("=")
        path = Path(folder if equals else word)
        name = name if equals else path.resolve().name
        if not name or "/" in name:
            raise ParameterError(f"a model is named as FOLDER or NAME=FOLDER, got {word!r}")
        if name in found:
            raise ParameterError(f"two models have the name {name!r}: name one of them, as in other={path}")
        found[name] = path
    return found


def named_files(words: list[str], names: list[str], option: str) -> dict[str, str]:
    """File by model; without a name it is the first model's."""
    from zipfel.errors import ParameterError, nearest

    found = {}
    for word in words:
        name, equals, file = word.partition("=")
        name, file = (name, file) if equals else (names[0], word)
        if name not in names:
            raise ParameterError(f"{option} names the model {name!r}, which is not served{nearest(name, names)}")
        found[name] = file
    return found
