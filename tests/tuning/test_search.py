"""A search finds better settings, goes on where it was stopped, and its preset file makes the same model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from zipfel import Dataset, Zipfel, datasets
from zipfel.cli.main import app
from zipfel.data import sample, write
from zipfel.errors import ParameterError
from zipfel.tuning import Settings, read_settings, tune, write_settings
from zipfel.tuning.search import Search
from zipfel.tuning.spaces import Choice, Range

optuna = pytest.importorskip("optuna")
GIVEN = Settings("knn", None, {"n_neighbors": 1, "sharpness": 1.0, "rarity": 0.0})


@pytest.fixture(scope="module")
def train() -> Dataset:
    return sample(datasets.load("debian-tags")[0], 300)


def search(**changes: Any) -> Search:
    settings = {"given": GIVEN, "space": {"n_neighbors": Choice((1, 30))}, "metric": "P@3", "threads": 1}
    return Search(**{**settings, **changes})


def test_it_finds_better_settings_than_those_given(train: Dataset, tmp_path: Path) -> None:
    told: list[float] = []
    found = tune(search(), train, tmp_path / "t", trials=4, on_better=lambda _, value, __: told.append(value))
    assert found.is_better
    assert found.settings.params["n_neighbors"] == 30
    assert len(found.trials) == 4
    assert told[-1] == found.value == max(value for _, value, _ in found.trials)


def test_it_goes_on_where_it_was_stopped(train: Dataset, tmp_path: Path) -> None:
    over = search(space={"sharpness": Range(0.0, 8.0)})
    whole = tune(over, train, tmp_path / "whole", trials=4)
    first = tune(over, train, tmp_path / "parts", trials=2)
    again = tune(over, train, tmp_path / "parts", trials=4)
    assert again.trials[:2] == first.trials == whole.trials[:2]
    assert len(again.trials) == 4
    assert tune(over, train, tmp_path / "parts", trials=4) == again


def test_another_search_in_the_same_folder_is_refused(train: Dataset, tmp_path: Path) -> None:
    tune(search(), train, tmp_path / "t", trials=1)
    with pytest.raises(ParameterError, match="choose another --out"):
        tune(search(metric="P@1"), train, tmp_path / "t", trials=2)


def test_the_time_budget_ends_it(train: Dataset, tmp_path: Path) -> None:
    found = tune(search(), train, tmp_path / "t", time_budget=0.01)
    assert not found.trials
    assert found.settings == GIVEN
    with pytest.raises(ParameterError, match="needs an end"):
        tune(search(), train, tmp_path / "u")


def test_preset_files(tmp_path: Path) -> None:
    settings = Settings("knn", None, {"n_neighbors": 7}, {"ngrams": 2})
    write_settings(tmp_path / "a.json", settings, {"P@1": 0.5})
    assert read_settings(tmp_path / "a.json") == settings
    for text in ("{", "[]", '{"kind": "zipfel-preset", "version": 9}', '{"kind": "zipfel-preset", "version": 1}'):
        (tmp_path / "b.json").write_text(text)
        with pytest.raises(ParameterError, match=r"b\.json"):
            read_settings(tmp_path / "b.json")
    wrong = json.loads((tmp_path / "a.json").read_text()) | {"params": {"n_neighbours": 3}}
    (tmp_path / "b.json").write_text(json.dumps(wrong))
    with pytest.raises(ParameterError, match="did you mean 'n_neighbors'"):
        read_settings(tmp_path / "b.json")


def test_the_command_line(train: Dataset, tmp_path: Path) -> None:
    file, out = tmp_path / "train.jsonl", tmp_path / "tuned"
    write(train, file)
    words = ["tune", file, "--method", "knn", "--trials", 2, "--over", "n_neighbors=10|30", "--out", out, "--json"]
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    told = json.loads(done.stdout)
    assert told["trials"] == 2
    assert (out / "trials.svg").read_text().startswith("<?xml")
    fitted = ["fit", file, "--preset", out / "best.json", "--out", tmp_path / "m"]
    assert CliRunner().invoke(app, [str(word) for word in fitted], catch_exceptions=False).exit_code == 0
    model = Zipfel.load(tmp_path / "m")
    assert model.method == "knn"
    assert model.get_params().get("n_neighbors") == told["settings"].get("n_neighbors")
