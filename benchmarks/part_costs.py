"""What each of auto's parts costs: core-seconds measured on one thread, beside what `evidence/rules.py` expects.

python -m benchmarks.part_costs ../shared/data [DATA ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from zipfel import Zipfel
from zipfel.data import Dataset, read
from zipfel.evidence import rules
from zipfel.methods.auto import Auto
from zipfel.run import Run

DATA = ("bibtex", "delicious", "debian-tags", "debian-deps", "eurlex57k")
NOT_TRIED = {"debian-deps": {"network"}, "eurlex57k": {"network"}}
"""Where a network would take minutes."""


@dataclass
class CpuRun(Run):
    """A run whose timings are the process's own seconds, whatever else the machine does."""

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        start = time.process_time()
        try:
            yield
        finally:
            self.timings[phase] = self.timings.get(phase, 0.0) + time.process_time() - start


def find(folder: Path, part: str) -> Dataset:
    files = [p for p in sorted(folder.iterdir()) if p.name.split(".")[0] == part]
    path = next((p for p in files if "json" not in p.name), files[0])
    return read(str(path))


def measure(train: Dataset, without: set[str]) -> tuple[dict[str, float], Auto]:
    """Seconds by part, and the model."""
    names = [r.part for r in rules.RULES if r.effort != "thorough" and r.part not in without]
    Zipfel("auto", threads=1, only=",".join(names)).fit(train.take(range(200)))  # compiles
    run = CpuRun(seed=1, threads=1)
    model = Zipfel("auto", threads=1, only=",".join(names), keep_all=True).fit(train, run=run)
    assert isinstance(model.method_, Auto)
    return run.timings, model.method_


if __name__ == "__main__":
    print(f"{'data':12s} {'part':14s} {'measured':>9s} {'expected':>9s}")
    for name in sys.argv[2:] or DATA:
        timings, auto = measure(find(Path(sys.argv[1]) / name, "train"), NOT_TRIED.get(name, set()))
        print(name, auto.shape_, f"Parabel {rules.parabel_seconds(auto.shape_):.2f} s on two cores")
        for tried in auto.plan_:
            if tried.tried:
                print(f"{name:12s} {tried.part:14s} {timings[tried.part]:9.2f} {tried.cost:9.2f}")
        for phase in ("neighbours", "choosing parts", "judge"):
            print(f"{name:12s} {phase:14s} {timings[phase]:9.2f}")
