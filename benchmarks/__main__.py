"""All speed benchmarks one after another, then one table: python -m benchmarks [NAME...]"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks
from benchmarks import Bar
from zipfel.bench.runner import machine

FIRST = ("startup", "reading", "vectorizing", "metrics")
QUALITY = {"ablation", "auto_ablation", "papers", "small", "table"}
"""How good, not how fast; they take hours and are run by name."""


def main(wanted: list[str]) -> None:
    """A benchmark that lacks a package or data is skipped, and the others go on."""
    bars: list[Bar] = []
    for name in wanted or present():
        print(f"\n== {name} ==", flush=True)
        try:
            bars += importlib.import_module(f"benchmarks.{name}").main() or []
        except (ImportError, OSError) as error:
            print(f"skipped: {error}")
    print("\n{cpu}, {cores} cores, {memory_gb} GB, {system}, Python {python}".format(**machine()))
    print(table(bars))


def present() -> list[str]:
    """Modules of this folder, those named above first."""
    found = {module.name for module in pkgutil.iter_modules(benchmarks.__path__)} - {"__main__"} - QUALITY
    return [name for name in FIRST if name in found] + sorted(found - set(FIRST))


def table(bars: list[Bar]) -> str:
    rows = [("benchmark", "measured", "bar", ""), *(bar.cells() for bar in bars)]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip() for row in rows]
    return "\n".join(lines)


if __name__ == "__main__":
    words, sys.argv[1:] = sys.argv[1:], []  # the names are ours, not arguments of the benchmarks
    main(words)
