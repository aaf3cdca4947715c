"""`zipfel tune`: the best settings of a method, by trying many on a split of train."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zipfel.cli import options
from zipfel.cli.console import print_json, say, tell
from zipfel.cli.fields import Fields, labels_elsewhere, with_file_options
from zipfel.cli.first_run import compile_for_fit
from zipfel.cli.fit import parse_settings, read_and_report
from zipfel.cli.progress import TerminalProgress
from zipfel.cli.stopping import when_stopped

if TYPE_CHECKING:
    from zipfel.data import Dataset
    from zipfel.tuning import Tuned
    from zipfel.tuning.search import Search


@with_file_options
def tune(
    train: options.Train,
    out: Annotated[Path, typer.Option(help="Folder for the study, the preset file and the plot.")] = Path("tuned"),
    method: options.MethodName = options.DEFAULT_METHOD,
    preset: options.Preset = None,
    valid: Annotated[
        str | None, typer.Option(help="File to measure on (default: a split of the training set).")
    ] = None,
    share: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of the training set that is held out for measuring.")
    ] = 0.2,
    metric: Annotated[str, typer.Option(help="The metric to maximise: P@1, nDCG@5, PSP@3, ...")] = "nDCG@5",
    over: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=RANGE", help="Search this setting: KEY=LOW:HIGH or KEY=A|B; may be repeated."),
    ] = None,
    set_: options.Settings = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Settings to try in total, including earlier runs.")] = None,
    time_budget: Annotated[float | None, typer.Option(min=1, help="Seconds for this run.", show_default="600")] = None,
    threads: options.Threads = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    *,
    fields: Fields,
) -> None:
    """Search a method's settings within a time budget. The same command continues an interrupted search.

    zipfel tune train.jsonl --time-budget 600 --out tuned

    zipfel fit train.jsonl --preset tuned/best.json --out model
    """
    from zipfel.features import VectorizerConfig
    from zipfel.methods import make_method
    from zipfel.system.threads import available_threads
    from zipfel.tuning import Settings
    from zipfel.tuning.search import Search
    from zipfel.tuning.spaces import space_of

    start = time.monotonic()
    params, vectorizer = parse_settings(set_ or [])
    fixed = {**params, **{f"vectorizer.{name}": value for name, value in vectorizer.items()}}
    space_of(method, over or (), fixed, texts=True)  # wrong words are told before a large file is read
    make_method(method, params, preset)
    VectorizerConfig.from_dict(vectorizer)
    Search(Settings(method, preset), {}, metric)
    dataset, validation = _read(train, valid, fields)
    space = space_of(method, over or (), fixed, texts=dataset.X is None)
    given = Settings(method, preset, params, vectorizer)
    search = Search(given, space, metric, share, seed, threads or available_threads())
    budget = 600.0 if trials is None and time_budget is None else time_budget
    found = _search(search, dataset, validation, out, trials, budget)
    how = {"metric": metric, "value": found.value, "default": found.default, "trials": len(found.trials)}
    _keep(found, out, how)
    if json:
        seconds = round(time.monotonic() - start, 3)
        print_json({"preset": str(out / "best.json"), **how, "settings": dict(found.searched), "seconds": seconds})
        return
    _report(found, train, out, method)


def _read(train: str, valid: str | None, fields: dict[str, str | None]) -> tuple[Dataset, Dataset | None]:
    from zipfel.data import read
    from zipfel.data.remarks import remarks_on, warn

    dataset = read_and_report(read, train, fields)
    warn(remarks_on(dataset))
    return dataset, read_and_report(read, valid, labels_elsewhere(fields)) if valid else None


def _search(
    search: Search, train: Dataset, valid: Dataset | None, out: Path, trials: int | None, budget: float | None
) -> Tuned:
    from zipfel.run import Run
    from zipfel.tuning import tune as search_in

    def on_better(trial: int, value: float, chosen: Mapping[str, Any]) -> None:
        say(f"trial {trial}: {search.metric} {100 * value:.2f} with {_words(chosen)}")

    hint = f"what was tried so far is in {out}: the same command goes on from there"
    with when_stopped(lambda: hint), TerminalProgress() as progress:
        compile_for_fit(search.given.method, search.given.preset, train, Run(threads=search.threads, progress=progress))
        return search_in(
            search, train, out, valid=valid, trials=trials, time_budget=budget, progress=progress, on_better=on_better
        )


def _keep(found: Tuned, out: Path, how: Mapping[str, Any]) -> None:
    """Writes the preset file and the plot."""
    from zipfel.tuning import write_settings

    write_settings(out / "best.json", found.settings, how)
    if found.trials:
        _draw(found, out / "trials.svg")


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in settings.items())


def _draw(found: Tuned, path: Path) -> None:
    from zipfel.errors import MissingExtraError
    from zipfel.tuning.plots import draw

    try:
        draw(found, path)
    except MissingExtraError as missing:
        say(f"no plot: {missing}")


def _report(found: Tuned, train: str, out: Path, method: str) -> None:
    tell(
        f"{found.metric} on held-out documents: {100 * found.value:.2f}, with the settings given "
        f"{100 * found.default:.2f}; {len(found.trials)} trials"
    )
    if not found.is_better:
        tell(f"nothing is better than the settings given; {out / 'best.json'} holds these")
        return
    tell(f"best: {_words(found.searched)}")
    chosen = f" --method {method}" if method != options.DEFAULT_METHOD else ""
    tell(f"zipfel fit {train}{chosen} --preset {out / 'best.json'} fits with these settings")
