"""The first run on a machine compiles kernels on all cores and shows a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel
    from zipfel.data import Dataset
    from zipfel.run import Progress, Run

PRESETS = ("quick",)
"""Those with kernels of their own on record."""


def compile_for_fit(method: str, preset: str | None, data: Dataset, run: Run) -> None:
    """Compiles what a fit of these data needs and is not compiled yet."""
    _compile(_profile(method, preset, texts=data.X is None), run.threads, run.progress)


def compile_for_predict(model: Zipfel, threads: int | None, progress: Progress | None = None) -> None:
    """Compiles what the model's predictions need: after a fit on another machine, or with another version."""
    _compile(_profile_of(model) + " predict", threads, progress)


def compile_for_update(model: Zipfel, threads: int | None) -> None:
    """Compiles what the model needs to learn from more documents."""
    _compile(_profile_of(model) + " update", threads)


def _profile(method: str, preset: str | None, *, texts: bool) -> str:
    kind = "texts" if texts else "rows"
    return f"{method}:{preset} {kind}" if preset in PRESETS else f"{method} {kind}"


def _profile_of(model: Zipfel) -> str:
    return _profile(model.method, model.preset, texts=model.rows_.vectorizer is not None)


def _compile(profile: str, threads: int | None, progress: Progress | None = None) -> None:
    from zipfel.kernels.compiling import compile_missing, is_worth_it, missing, seconds_of
    from zipfel.system.threads import available_threads

    entries = missing(profile)
    if not is_worth_it(entries):
        return
    if progress is None:
        from zipfel.cli.progress import TerminalProgress

        progress = TerminalProgress()
    processes = threads or available_threads()
    seconds = seconds_of(entries, processes)
    progress.remark(f"the first run compiles {len(entries)} kernels, for about {seconds:.0f} s; later runs need not")
    with progress.task("compiling", total=len(entries)) as task:
        compile_missing(entries, processes, lambda: task.advance(1))
