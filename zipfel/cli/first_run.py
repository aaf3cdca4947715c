"""The first run on a machine compiles kernels on all cores and shows a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zipfel.data import Dataset
    from zipfel.run import Run

PRESETS = ("quick",)
"""Those with kernels of their own on record."""


def compile_first(method: str, preset: str | None, data: Dataset, run: Run) -> None:
    """Compiles what a fit of these data needs and is not compiled yet."""
    from zipfel.kernels.compiling import compile_missing, is_worth_it, missing, seconds_of

    kind = "texts" if data.X is None else "rows"
    entries = missing(f"{method}:{preset} {kind}" if preset in PRESETS else f"{method} {kind}")
    if not is_worth_it(entries):
        return
    seconds = seconds_of(entries, run.threads)
    run.progress.remark(
        f"the first run compiles {len(entries)} kernels, for about {seconds:.0f} s; later runs need not"
    )
    with run.progress.task("compiling", total=len(entries)) as task:
        compile_missing(entries, run.threads, lambda: task.advance(1))
