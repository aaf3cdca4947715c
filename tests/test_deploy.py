"""The files in deploy/ fit the program: its commands, options, paths, signals and files."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("yaml", reason="needs PyYAML (extra dev)")

import typer.main
import yaml

from zipfel.cli.main import app
from zipfel.serve.app import make_app
from zipfel.serve.core import Service
from zipfel.serve.settings import TOKENS_VARIABLE

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
pytestmark = pytest.mark.skipif(not DEPLOY.is_dir(), reason="deploy/ is not in the package")


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def container() -> dict[str, Any]:
    (deployment,) = [doc for doc in documents("kubernetes.yaml") if doc["kind"] == "Deployment"]
    found: dict[str, Any] = deployment["spec"]["template"]["spec"]["containers"][0]
    return found


def unit() -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(DEPLOY / "zipfel.service")
    return parser["Service"]


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (DEPLOY / "Dockerfile").read_text())
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in text.splitlines()) if word.isupper()]


def calls() -> list[list[str]]:
    """The words after `zipfel` in each file."""
    (command,) = [rest for word, rest in instructions() if word == "CMD"]
    service = documents("compose.yaml")[0]["services"]["zipfel"]["command"]
    return [json.loads(command), service, container()["args"], shlex.split(unit()["ExecStart"])[1:]]


@pytest.mark.parametrize("words", calls() if DEPLOY.is_dir() else [])
def test_the_command_is_one_that_zipfel_has(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    serve = command.commands[words[0]]
    with serve.make_context("serve", list(words[1:])) as context:
        assert context.params["models"]


def test_probes_ask_what_the_service_answers() -> None:
    made: Any = make_app(Service({}))
    routes = set(re.findall(r"/\w+", str(made.app.openapi()["paths"])))
    asked = [container()[probe]["httpGet"]["path"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")]
    (health,) = [rest for word, rest in instructions() if word == "HEALTHCHECK"]
    asked += re.findall(r"8000(/\w+)", health)
    assert len(asked) == 4
    assert set(asked) <= routes


def test_nobody_is_root_and_the_root_is_read_only() -> None:
    assert [rest for word, rest in instructions() if word == "USER"] == ["10001"]
    assert container()["securityContext"]["readOnlyRootFilesystem"] is True
    assert container()["securityContext"]["allowPrivilegeEscalation"] is False
    service = documents("compose.yaml")[0]["services"]["zipfel"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert (unit()["DynamicUser"], unit()["ProtectSystem"]) == ("yes", "strict")


def test_what_the_image_copies_is_there() -> None:
    copied = [rest.split() for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    for *sources, _ in copied:
        for source in sources:
            assert source.startswith("--") or (ROOT / source).exists(), source
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert not {source for *sources, _ in copied for source in sources} & set(ignored)
    assert (DEPLOY / "entrypoint.sh").stat().st_mode & 0o111


def test_the_entry_point_becomes_zipfel(tmp_path: Path) -> None:
    (tmp_path / "zipfel").write_text('#!/bin/sh\necho "$NUMBA_CACHE_DIR $*"\n')
    (tmp_path / "zipfel").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    done = subprocess.run(
        ["sh", DEPLOY / "entrypoint.sh", "serve", "a b"], env=environment, capture_output=True, text=True
    )
    assert done.stdout == f"{tmp_path / 'kernels'} serve a b\n"


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    text = (DEPLOY / "zipfel.service").read_text().replace("/opt/zipfel/bin/zipfel", "/bin/true")
    (tmp_path / "zipfel.service").write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", tmp_path / "zipfel.service"], capture_output=True, text=True)
    assert "zipfel.service" not in done.stderr, done.stderr


def test_the_page_names_what_there_is() -> None:
    text = (ROOT / "docs" / "running.md").read_text()
    command: Any = typer.main.get_command(app)
    known = {name for found in command.commands.values() for p in found.params for name in getattr(p, "opts", ())}
    assert set(re.findall(r"`(--[a-z-]+)", text)) <= known
    assert TOKENS_VARIABLE in text
    for file in DEPLOY.iterdir():
        assert file.name in text, file.name
