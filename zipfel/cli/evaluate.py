"""`zipfel evaluate` and `zipfel calibrate`."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zipfel.cli.console import print_json, tell
from zipfel.cli.embeddings import load_with, with_file
from zipfel.cli.fields import Fields, with_file_options
from zipfel.cli.first_run import compile_for_predict
from zipfel.cli.fit import read_and_report
from zipfel.cli.options import (
    KS,
    Embeddings,
    Encoder,
    Force,
    Json,
    Model,
    Propensity,
    Threads,
    Threshold,
)
from zipfel.cli.progress import TerminalProgress

if TYPE_CHECKING:
    import scipy.sparse as sp

    from zipfel.metrics import Reliability
    from zipfel.ranking import Ranking

Tagged = Annotated[str, typer.Argument(help="Tagged documents, in any format that `zipfel fit` reads.")]


@with_file_options
def evaluate(
    model: Model,
    test: Tagged,
    k: Annotated[str, typer.Option("-k", "--k", help="Ranks to measure at, e.g. 1,3,5.")] = KS,
    threshold: Threshold = None,
    propensity: Propensity = None,
    diagram: Annotated[Path | None, typer.Option(help="Write the reliability diagram to this SVG file.")] = None,
    embeddings: Embeddings = None,
    encoder: Encoder = None,
    threads: Threads = None,
    json: Json = False,
    *,
    fields: Fields,
) -> None:
    """Measure a model on tagged documents: ranking, accepted labels and calibration.

    P, nDCG, R, RP, F1, PSP, PSnDCG, coverage, ECE and Brier at k; with --threshold F1 of the labels that reach it.

    zipfel evaluate model test.jsonl --json
    """
    from zipfel.data import read

    ks = parse_ks(k)
    _check(threshold, propensity, diagram)
    loaded = load_with(model, encoder)
    loaded.threads = threads
    dataset = with_file(read_and_report(read, test, fields), embeddings)
    compile_for_predict(loaded, threads)
    start = time.monotonic()
    with TerminalProgress().task("evaluating"):
        scores, ranking, truth = loaded.measure(dataset, ks=ks, threshold=threshold, propensity=propensity)
    seconds = time.monotonic() - start
    shown = None if json and diagram is None else _reliability(ranking, truth, max(ks))
    if diagram is not None and shown is not None:
        write_diagram(diagram, shown, max(ks))
    if json:
        print_json({"model": str(model), "n_points": dataset.n_points, "seconds": round(seconds, 3), **scores})
        return
    from zipfel.cli.show import metric_table, reliability_table, set_table, show

    show(metric_table(scores, ks, f"{loaded.method} on {dataset.n_points:,} documents"))
    if threshold is not None:
        show(set_table(scores, threshold))
    if shown is not None:
        show(reliability_table(shown, max(ks)))
    tell(f"{seconds:.1f} s, {1000 * seconds / max(1, dataset.n_points):.2f} ms a document")


@with_file_options
def calibrate(
    model: Model,
    data: Tagged,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the new model (default: it replaces the old one).")
    ] = None,
    embeddings: Embeddings = None,
    encoder: Encoder = None,
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
    *,
    fields: Fields,
) -> None:
    """Learn probabilities and thresholds from other tagged documents than the training set.

    The ranking stays the same.

    zipfel calibrate model recent.jsonl --out model2
    """
    from zipfel.data import read
    from zipfel.persistence import save_or_rescue, writing

    target = out or model
    loaded = load_with(model, encoder)
    loaded.threads, kept = threads, loaded.threads
    dataset = with_file(read_and_report(read, data, fields), embeddings)
    compile_for_predict(loaded, threads)
    with writing(target, force):
        with TerminalProgress().task("calibrating"):
            before = loaded.evaluate(dataset)
            after = loaded.calibrate(dataset).evaluate(dataset)
        loaded.threads = kept
        save_or_rescue(partial(loaded.save, force=force), target)
    errors = {f"ECE@{k}": (before.get(f"ECE@{k}"), after[f"ECE@{k}"]) for k in (1, 3, 5)}
    if json:
        print_json({"model": str(target), "n_points": dataset.n_points, **errors, **loaded.thresholds_.facts()})
        return
    told = "; ".join(f"{name} {_percent(a)} before, {_percent(b)} now" for name, (a, b) in errors.items())
    tell(f"{told} (per cent, on the {dataset.n_points:,} documents themselves); the model is in {target}")


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def _reliability(ranking: Ranking, truth: sp.csr_matrix, k: int) -> Reliability | None:
    """Of the first k labels of all documents; none where the scores are no probabilities."""
    from zipfel.metrics.calibration import reliability, top_pairs

    p, hits = top_pairs(ranking, truth, k)
    return reliability(p, hits) if len(p) and p.min() >= 0 and p.max() <= 1 else None


def _check(threshold: str | None, propensity: str | None, diagram: Path | None) -> None:
    """Wrong words are told before a large file is read."""
    from zipfel.decisions import parse_threshold
    from zipfel.metrics import Propensity as Constants

    if threshold is not None:
        parse_threshold(threshold)
    if propensity is not None:
        Constants.parse(propensity)
    if diagram is not None:
        _check_folder(diagram)


def _check_folder(diagram: Path) -> None:
    from zipfel.errors import ParameterError

    if not diagram.parent.is_dir():
        raise ParameterError(f"--diagram: the folder {diagram.parent} does not exist; make it first")


def write_diagram(file: Path, found: Reliability, k: int) -> None:
    """The diagram as an SVG file that needs nothing else."""
    from zipfel.report.figures import alone, reliability_diagram

    title = f"Reliability of the first {k} labels, ECE {100 * found.error:.2f} %"
    drawn = reliability_diagram(found.probability, found.share, found.size, title)
    file.write_text(alone(drawn), encoding="utf-8")


def parse_ks(words: str) -> tuple[int, ...]:
    from zipfel.errors import ParameterError

    try:
        ks = tuple(sorted({int(word) for word in words.split(",")}))
    except ValueError:
        ks = ()
    if not ks or ks[0] < 1:
        raise ParameterError(f"--k takes whole numbers from 1 on, such as 1,3,5; got {words!r}")
    return ks
