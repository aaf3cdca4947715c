"""`zipfel fit` and `zipfel demo`: from a file of tagged documents to a saved, evaluated model."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zipfel.cli import options
from zipfel.cli.console import print_json, say, tell
from zipfel.cli.embeddings import Names, files_for, name_encoder, with_file
from zipfel.cli.fields import Fields, labels_elsewhere, with_file_options
from zipfel.cli.first_run import compile_for_fit
from zipfel.cli.memory import fit_model, memory_limit, packed_within
from zipfel.cli.progress import TerminalProgress
from zipfel.cli.stopping import when_stopped
from zipfel.system.log import LOGGER

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel
    from zipfel.data import Dataset, Vocabulary
    from zipfel.run import Progress, Run

RELIABILITY_ROWS = 5000
"""Test documents of the reliability diagram that a model keeps."""


@with_file_options
def fit(
    train: options.Train,
    out: options.Out = Path("model"),
    method: options.MethodName = options.DEFAULT_METHOD,
    preset: options.Preset = None,
    valid: options.Valid = None,
    valid_share: options.ValidShare = None,
    test: options.Test = None,
    set_: options.Settings = None,
    weighting: options.WeightingName = "auto",
    propensity: options.Propensity = None,
    vocabulary: options.Vocabulary = None,
    unknown_labels: options.UnknownLabels = "skip",
    embeddings: options.EmbeddingsOfFiles = None,
    label_embeddings: options.LabelEmbeddings = None,
    encoder: options.Encoder = None,
    threads: options.Threads = None,
    seed: options.Seed = 0,
    time_budget: options.TimeBudget = None,
    resume: options.Resume = False,
    force: options.Force = False,
    device: options.Device = "cpu",
    workers: options.Workers = None,
    address: options.Address = None,
    max_memory: options.MaxMemory = None,
    explain_plan: options.ExplainPlan = False,
    json: options.Json = False,
    *,
    fields: Fields,
) -> None:
    """Learn from tagged documents and save a model.

    zipfel fit train.jsonl --out model --test test.jsonl
    """
    from zipfel.persistence import writing

    start = time.monotonic()
    model = _estimator(method, preset, weighting, *parse_settings(set_ or []), valid_share, propensity)
    name_encoder(model, encoder)
    _check_place(model.method, device, workers)
    limit = memory_limit(max_memory, workers)
    concepts = read_concepts(vocabulary, unknown_labels)
    with (
        writing(out, force, needed=_estimated_bytes(train)),
        TerminalProgress(model.method) as progress,
        packed_within(train, fields, limit, out) as source,
    ):
        parts = _read_all(source, valid, test, fields, embeddings, progress)
        run = _run(seed, threads, time_budget, device, out, resume, progress)
        with when_stopped(lambda: _resume_hint(run)), _workers(run, workers, address):
            names = Names(concepts, unknown_labels, label_embeddings)
            scores = fit_and_save(model, *parts, run, out, names, force=force, limit=limit)
    report(model, scores, out, time.monotonic() - start, as_json=json, explain_plan=explain_plan)


def _read_all(
    train: str,
    valid: str | None,
    test: str | None,
    fields: dict[str, str | None],
    embeddings: Sequence[Path] | None,
    progress: Progress,
) -> tuple[Dataset, Dataset | None, Dataset | None]:
    """Training, validation and test set, the last two if they are named, with their embeddings."""
    from zipfel.data import read

    vectors = iter(files_for(1 + bool(valid) + bool(test), embeddings))
    alike = labels_elsewhere(fields)
    found = with_file(read_and_report(read, train, fields, progress), next(vectors))
    others: list[Dataset | None] = [None, None]
    for i, file in enumerate((valid, test)):
        if file:
            others[i] = with_file(read_and_report(read, file, alike, progress), next(vectors))
    return found, others[0], others[1]


def demo(
    out: options.Out = Path("models/debian-tags"),
    method: options.MethodName = options.DEFAULT_METHOD,
    preset: options.Preset = None,
    threads: options.Threads = None,
    seed: options.Seed = 0,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the model afterwards and open its page.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of --serve; 0 takes a free one.")] = 8000,
) -> None:
    """Fit on the bundled data set, print metrics and three predictions, and suggest the next commands.

    zipfel demo --serve
    """
    from zipfel import datasets
    from zipfel.cli.show import prediction_table, show

    start = time.monotonic()
    train, test = datasets.load("debian-tags")
    say(f"debian-tags: {train.n_points:,} package descriptions, {test.n_points:,} to test on, {train.n_labels} tags")
    if method == options.DEFAULT_METHOD and preset is None:
        preset = "quick"  # a first look should not take longer than it takes to decide whether to stay
    model = _estimator(method, preset, "auto", {}, {})
    with TerminalProgress(method) as progress:
        run = _run(seed, threads, None, "cpu", out, False, progress)
        scores = fit_and_save(model, train, None, test, run, out)
    report(model, scores, out, time.monotonic() - start, as_json=False)
    texts = datasets.EXAMPLES["debian-tags"]
    for text, labels in zip(texts, model.predict(texts, k=5).rows(), strict=True):
        show(prediction_table(f"“{text}”", labels))
    typed = "zipfel" if shutil.which("zipfel") else os.path.relpath(sys.argv[0])
    tell(f'\nThe model is in {out}. Next:\n  echo "your own text" | {typed} predict {out} -')
    tell(f"  {typed} info {out}\n  {typed} fit your-data.jsonl --out your-model")
    if not serve:
        tell(f"  {typed} demo --serve    (the same on a page in your browser)")
        return
    from zipfel.cli.serve import serve_demo

    serve_demo(out, train, texts, port)


def _workers(run: Run, workers: int | None, address: str | None) -> AbstractContextManager[None]:
    """Ray is imported only where it is asked for."""
    if workers is None and address is None:
        return nullcontext()
    from zipfel.scale.cluster import workers_for

    return workers_for(run, workers, address)


def _check_place(method: str, device: str, workers: int | None) -> None:
    """Nothing is quietly fitted on another device than was asked for, or by one process instead of several."""
    from zipfel.errors import ParameterError
    from zipfel.methods.registry import installed_methods, method_class
    from zipfel.run import check_device

    check_device(device)
    if workers is not None and not method_class(method).by_workers:
        able = ", ".join(name for name in installed_methods() if method_class(name).by_workers)
        raise ParameterError(f"method {method} is fitted by one process: leave out --workers, or use one of {able}")


def _resume_hint(run: Run) -> str | None:
    if run.checkpoint is None or not run.checkpoint.exists():
        return None
    return f"what was learned so far is in {run.checkpoint}: the same command with --resume goes on from there"


def fit_and_save(
    model: Zipfel,
    train: Dataset,
    valid: Dataset | None,
    test: Dataset | None,
    run: Run,
    out: Path,
    names: Names | None = None,
    *,
    force: bool = False,
    limit: int | None = None,
) -> dict[str, float]:
    """Fits, evaluates on test where there is one, saves; the checkpoint goes when the model is there. limit: bytes."""
    from zipfel.persistence import save_or_rescue

    model.seed = run.seed  # it is saved with the model
    compile_for_fit(model.method, model.preset, train, run)
    fit_model(model, train, run, limit, valid=valid, **({} if names is None else names.arguments()))
    scores: dict[str, float] = {}
    if test is not None:
        with run.progress.task("evaluating"):
            scores = model.evaluate(test)
            diagram = model.reliability(next(test.runs(RELIABILITY_ROWS)))
        model.metrics_ = scores
        model.training_["reliability"] = diagram and asdict(diagram)
    with run.progress.task("saving"):
        save_or_rescue(partial(model.save, force=force), out)
    if run.checkpoint is not None:
        shutil.rmtree(run.checkpoint, ignore_errors=True)
    return scores


def report(
    model: Zipfel, scores: dict[str, float], out: Path, seconds: float, *, as_json: bool, explain_plan: bool = False
) -> None:
    from zipfel.cli.plan import show_plan
    from zipfel.persistence import folder_size

    if explain_plan:
        show_plan(model, as_json=as_json)
    megabytes = folder_size(out) / 1e6
    if as_json:
        facts = {
            "model": str(out),
            "method": model.method,
            "seconds": round(seconds, 3),
            "model_mb": round(megabytes, 3),
        }
        print_json({**facts, "timings": model.training_["timings"], **scores})
        return
    from zipfel.cli.show import metric_table, show

    if scores:
        show(metric_table({k: v for k, v in scores.items() if "[" not in k}, (1, 3, 5), "on test"))
    good = f", P@1 {100 * scores['P@1']:.2f} on test" if "P@1" in scores else ""
    tell(f"{model.method} fitted in {seconds:.1f} s{good}; model of {megabytes:.1f} MB in {out}")


def parse_settings(words: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """(the method's, the vectoriser's) parameters from KEY=VALUE words."""
    from zipfel.errors import ParameterError

    params: dict[str, str] = {}
    vectorizer: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise ParameterError(f"--set takes KEY=VALUE, got {word!r}")
        if key.startswith("vectorizer."):
            vectorizer[key.removeprefix("vectorizer.")] = value
        else:
            params[key] = value
    return params, vectorizer


def _estimator(
    method: str,
    preset: str | None,
    weighting: str,
    params: dict[str, Any],
    vectorizer: dict[str, Any],
    valid_share: float | None = None,
    propensity: str | None = None,
) -> Zipfel:
    from zipfel.classifier import Zipfel
    from zipfel.estimator.rows import check_weighting
    from zipfel.features import VectorizerConfig
    from zipfel.methods import make_method
    from zipfel.metrics import Propensity

    if preset is not None and preset.endswith(".json"):
        method, preset, params, vectorizer = _with_preset_file(Path(preset), method, params, vectorizer)
    # A wrong parameter is told before a large file is read.
    make_method(method, params, preset)
    check_weighting(weighting)
    VectorizerConfig.from_dict(vectorizer)
    if propensity is not None:
        Propensity.parse(propensity)
    own: dict[str, Any] = dict(params)
    kept = {"valid_share": valid_share, "propensity": propensity, **own}
    return Zipfel(method, preset=preset, weighting=weighting, vectorizer=vectorizer, **kept)


def _with_preset_file(
    path: Path, method: str, params: dict[str, str], vectorizer: dict[str, str]
) -> tuple[str, str | None, dict[str, Any], dict[str, Any]]:
    """The settings of a preset file of `zipfel tune`; those that were typed come before them."""
    from zipfel.errors import ParameterError
    from zipfel.tuning.presets import read_settings

    found = read_settings(path)
    if method not in (found.method, options.DEFAULT_METHOD):
        raise ParameterError(f"{path} is a preset of method {found.method!r}, and --method is {method!r}: leave it out")
    return found.method, found.preset, {**found.params, **params}, {**found.vectorizer, **vectorizer}


def _run(
    seed: int,
    threads: int | None,
    time_budget: float | None,
    device: str,
    out: Path,
    resume: bool,
    progress: TerminalProgress,
) -> Run:
    from zipfel.run import Run
    from zipfel.system.threads import available_threads

    checkpoint = out.parent / f"{out.name}.checkpoint"
    if not resume:
        shutil.rmtree(checkpoint, ignore_errors=True)
    return Run(
        seed=seed,
        threads=threads or available_threads(),
        device=device,
        progress=progress,
        time_budget=time_budget,
        checkpoint=checkpoint,
        resume=resume,
    )


def read_concepts(vocabulary: str | None, unknown_labels: str) -> Vocabulary | None:
    """The vocabulary of a file; wrong options are told before anything else is read."""
    from zipfel.data import read_vocabulary
    from zipfel.data.vocabulary_labels import UNKNOWN_LABELS
    from zipfel.errors import ParameterError

    if unknown_labels not in UNKNOWN_LABELS:
        raise ParameterError(f"--unknown-labels must be {' or '.join(UNKNOWN_LABELS)}, got {unknown_labels!r}")
    return read_vocabulary(vocabulary) if vocabulary else None


def _estimated_bytes(train: str) -> int:
    """Room that a model of this file may need: about as much as the file."""
    path = Path(train)
    return path.stat().st_size if path.is_file() else 0


def read_and_report(
    read: Any, path: str, fields: dict[str, str | None], progress: Progress | None = None, *, silent: bool = False
) -> Dataset:
    """Reads a file, shows that it does, and says what the reader guessed and mended."""
    start = time.monotonic()
    with (progress or TerminalProgress()).task("reading"):
        found: Dataset = read(path, **{name: value for name, value in fields.items() if value is not None})
    LOGGER.info("read %s: %d documents, %d labels, %.2f s", path, len(found), found.n_labels, time.monotonic() - start)
    for sentence in () if silent else found.report.sentences():
        say(f"{path}: {sentence}")
    return found
