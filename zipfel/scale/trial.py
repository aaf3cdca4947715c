"""How much memory a fit takes, measured on samples of the documents, each in a process of its own.

    held before fitting + compiled code and what a fit of a few documents leaves behind + growth(n)

growth is the most that is held while n documents are learnt from and the model is saved, less what was held before. It
is measured at two sizes and taken to be a power of n, which fits better than a straight line: tables double, and words
grow slowly. Far from the samples it is taken to be in proportion to n, to be on the safe side. Nothing here knows what
a method does inside, so it holds for all of them.

    python -m zipfel.scale.trial FOLDER        FOLDER/job.json and FOLDER/data, packed -> FOLDER/result.json
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from zipfel.errors import ResourceError
from zipfel.scale.resident import watched
from zipfel.system.interrupts import Halted, check_halted

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel
    from zipfel.data import Dataset
    from zipfel.run import Run

SHARES, MOST_DOCUMENTS, FEWEST_DOCUMENTS = (1 / 8, 1 / 2), (10_000, 40_000), (250, 1_000)
"""Of the documents, in the two samples. What differs by chance from fit to fit counts the less, the further they are
apart."""
_WARM_UP = 300
"""Documents of the fit before, which loads code and starts threads."""


class Picked(Sequence[str]):
    """Some of many strings, read when they are asked for: those of packed data take no memory.

    >>> list(Picked(["a", "b", "c"], np.array([2, 0])))
    ['c', 'a']
    """

    def __init__(self, strings: Sequence[str], rows: npt.NDArray[np.int64]) -> None:
        self._strings, self._rows = strings, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        rows = self._rows[at]
        return [self._strings[int(i)] for i in rows] if isinstance(rows, np.ndarray) else self._strings[int(rows)]


def picked(data: Dataset, rows: npt.NDArray[np.int64]) -> Dataset:
    """`Dataset.take` whose texts stay where they are."""
    texts = None if data.texts is None else Picked(data.texts, rows)
    ids = None if data.ids is None else Picked(data.ids, rows)
    X, lines = (None if part is None else part[rows] for part in (data.X, data.lines))
    return replace(data, Y=data.Y[rows], X=X, texts=texts, ids=ids, lines=lines)


_FAR = 4
"""Times the larger sample up to which the power holds."""


@dataclass(frozen=True)
class Growth:
    """Bytes held while learning from n documents: `start`, and of `n` documents `bytes`; those grow by `power`."""

    start: float
    n: int
    bytes: float
    power: float = 1.0

    @classmethod
    def of(cls, start: float, small: tuple[int, float], large: tuple[int, float]) -> Growth:
        """From the bytes of two sizes; they grow neither faster than documents nor slower than their square root."""
        if small[1] <= 0 or small[0] >= large[0]:
            return cls(start, large[0], max(1.0, large[1]))
        power = math.log(max(1.0, large[1]) / small[1]) / math.log(large[0] / small[0])
        return cls(start, large[0], max(1.0, large[1]), min(max(power, 0.5), 1.0))

    def at(self, n_documents: int) -> float:
        times = n_documents / self.n
        return float(self.start + self.bytes * min(times, _FAR) ** self.power * max(1.0, times / _FAR))

    def most_documents(self, limit: float) -> int:
        """How many fit below the limit; 0 where none do."""
        room = max(0.0, limit - self.start) / self.bytes
        most = _FAR**self.power
        return int(self.n * (room ** (1 / self.power) if room <= most else _FAR * room / most))


def measured_growth(model: Zipfel, train: Dataset, run: Run, held: int, limit: int) -> Growth:
    """held: bytes of this process now. Where a sample goes over the limit, smaller ones are taken."""
    order = run.rng(50).permutation(train.n_points)

    def trial(size: int) -> dict[str, Any]:
        return run_trial(model, picked(train, np.sort(order[:size])), run, limit)

    most = train.n_points
    while True:
        sizes = sample_sizes(most)
        found = [trial(size) for size in sizes]
        if not found[-1]["is_over"] or sizes[-1] <= FEWEST_DOCUMENTS[0]:
            break
        most = sizes[0]
    start = held + found[-1]["warm"]
    grown = [(size, float(result["growth"])) for size, result in zip(sizes, found, strict=True)]
    return Growth.of(start, grown[0], grown[-1])


def sample_sizes(n_documents: int) -> list[int]:
    """One or two sizes of samples, rising; of few documents, all of them."""
    sizes = [
        min(n_documents, max(fewest, min(round(share * n_documents), most)))
        for share, most, fewest in zip(SHARES, MOST_DOCUMENTS, FEWEST_DOCUMENTS, strict=True)
    ]
    return sorted(set(sizes))


def run_trial(model: Zipfel, sample: Dataset, run: Run, limit: int) -> dict[str, Any]:
    """{"warm", "growth", "peak": bytes, "is_over": whether that was over the limit}: the sample is fitted and saved in
    a process of its own. peak: of that process."""
    from zipfel.data.packing import pack_dataset

    job = {"estimator": model.get_params(), "seed": run.seed, "threads": run.threads, "limit": limit}
    with TemporaryDirectory(prefix="zipfel-trial-") as name:
        folder = Path(name)
        pack_dataset(sample, folder / "data")
        (folder / "job.json").write_text(json.dumps(job))
        command = [sys.executable, "-m", "zipfel.scale.trial", str(folder)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                while process.poll() is None:
                    check_halted()
                    time.sleep(0.05)
            finally:
                process.kill()
            assert process.stderr is not None
            told = process.stderr.read().decode(errors="replace").strip()
        if not (folder / "result.json").exists():
            raise ResourceError(f"memory can't be estimated: the fit of a sample failed ({told.splitlines()[-1]:.200})")
        result: dict[str, Any] = json.loads((folder / "result.json").read_text())
        return result


def main(folder: Path) -> None:
    """The process of one sample."""
    from zipfel.classifier import Zipfel
    from zipfel.data import open_packed
    from zipfel.kernels.loading import load_kernels
    from zipfel.run import Run
    from zipfel.scale.resident import held_memory

    job = json.loads((folder / "job.json").read_text())
    data = open_packed(folder / "data")

    def fit(part: Dataset) -> None:
        estimator = dict(job["estimator"])
        model = Zipfel(estimator.pop("method"), **estimator)
        model.fit(part, run=Run(seed=job["seed"], threads=job["threads"])).save(folder / "model", force=True)

    before = held_memory()
    load_kernels()
    fit(data.take(np.arange(min(_WARM_UP, data.n_points))))
    start = held_memory()
    ended = False
    with watched(job["limit"]) as watch, suppress(Halted, MemoryError):
        fit(data)
        ended = True
    is_over = watch.is_over or not ended
    result = {"warm": start - before, "growth": watch.peak - start, "peak": watch.peak, "is_over": is_over}
    (folder / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
