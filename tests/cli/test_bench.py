from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from zipfel.bench.runner import Bench
from zipfel.cli.bench import parse_pythons, parse_seeds
from zipfel.cli.main import app
from zipfel.errors import ParameterError


def write_data(folder: Path) -> Path:
    folder.mkdir()
    for part in ("train", "test"):
        (folder / f"{part}.txt").write_text("1 1 1\n0 0:1\n")
    return folder


def test_seeds() -> None:
    assert parse_seeds("1,2,2,10") == [1, 2, 10]
    for words in ("", "a", "1,-2"):
        with pytest.raises(ParameterError, match="1,2,3"):
            parse_seeds(words)


def test_pythons() -> None:
    assert parse_pythons(["pecos=a/b=c"]) == {"pecos": "a/b=c"}
    with pytest.raises(ParameterError, match="PEER=PATH"):
        parse_pythons(["pecos"])


def test_the_command_hands_over_what_was_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def run(self: Bench, sources: Any, contestants: Any) -> list[Any]:
        self.out.mkdir()
        seen.update(seeds=self.seeds, threads=self.threads, data=[s.name for s in sources])
        seen.update(systems=[c.name for c in contestants], propensity=self.propensity)
        return []

    monkeypatch.setattr(Bench, "run", run)
    data, out = write_data(tmp_path / "mine"), tmp_path / "out"
    words = ["bench", str(data), "--methods", "knn,popular", "--peers", "none", "--seeds", "1,2", "--threads", "2"]
    words += ["--propensity", "Amazon-3M"]
    done = CliRunner().invoke(app, [*words, "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"schema": 1, "runs": []}
    assert seen == {
        "seeds": [1, 2],
        "threads": 2,
        "data": ["mine"],
        "systems": ["knn", "popular"],
        "propensity": "Amazon-3M",
    }
    assert (out / "table.md").is_file()
