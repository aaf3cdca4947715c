"""Reading an XMC text file, against scikit-learn's load_svmlight_file: python -m benchmarks.reading [FILE]

Without FILE it takes eurlex57k from the shared data folder beside the checkout, else synthetic data. Both read
the same rows; times are the best of several in one run; memory is what the process grows by while it reads, buffers
included, beside the result's size.
"""

from __future__ import annotations

import gzip
import io
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from benchmarks import Bar
from zipfel.data import read, synth, write
from zipfel.system.threads import use_threads

THREADS = 2
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "eurlex57k" / "train.txt.gz"
COPIES = 4  # of the rows, for the memory: a larger file drowns the constant part
SKLEARN_BYTES = 16 << 20
ROUNDS = 4


def main() -> list[Bar]:
    with tempfile.TemporaryDirectory() as folder:
        path = data_file(Path(folder))
        rows = some_rows(path)
        size, part = path.stat().st_size / 1e6, len(rows) / 1e6
        both, alone, theirs = race(
            lambda: timed_read(path, THREADS),
            lambda: timed_read(path, 1),
            lambda: load_svmlight_file(io.BytesIO(rows), multilabel=True, zero_based=True),
        )
        speed = {"2 threads": size / both[0], "1 thread": size / alone[0], "scikit-learn": part / theirs[0]}
        print(f"reading an XMC file of {size:.0f} MB (scikit-learn: its first {part:.0f} MB)")
        for name, megabytes in speed.items():
            print(f"  {name:14} {megabytes:7.1f} MB/s   {megabytes / speed['scikit-learn']:5.1f} times as fast")
        print(f"  in CPU seconds a MB, 2 threads: {(theirs[1] / part) / (both[1] / size):.1f} times less")
        peak, result = in_a_process(peak_memory, repeated(path, COPIES))
        print(f"  memory: result {result / 1e6:.0f} MB, peak {peak / 1e6:.0f} MB: ratio {peak / result:.2f}")
        return [
            Bar("reading XMC, against load_svmlight_file", speed["2 threads"] / speed["scikit-learn"], 8),
            Bar("reading XMC, peak memory to result", peak / result, 2, at_least=False),
        ]


def race(*works: Callable[[], object]) -> list[tuple[float, float]]:
    """(seconds, CPU seconds) of each, best of several; they take turns, so that a busy machine slows all of them."""
    best = [(float("inf"), float("inf"))] * len(works)
    for _ in range(ROUNDS):
        for i, work in enumerate(works):
            start, cpu = time.perf_counter(), time.process_time()
            work()
            took = time.perf_counter() - start, time.process_time() - cpu
            best[i] = min(best[i][0], took[0]), min(best[i][1], took[1])
    return best


def data_file(folder: Path) -> Path:
    path = folder / "rows.txt"
    if len(sys.argv) > 1 or SHARED.is_file():
        source = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
        with (gzip.open if source.suffix == ".gz" else open)(source, "rb") as packed, path.open("wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
    else:
        write(synth(40_000, 50_000, 20_000, features_per_point=100), path)
    return path


def timed_read(path: Path, threads: int) -> None:
    with use_threads(threads):
        read(path)


def some_rows(path: Path) -> bytes:
    """The first rows without the header: as much as scikit-learn gets, as it takes its time."""
    with path.open("rb") as file:
        file.readline()
        rows = file.read(SKLEARN_BYTES)
    return rows[: rows.rindex(b"\n") + 1]


def repeated(path: Path, times: int) -> Path:
    """The same rows several times over."""
    larger = path.with_name("larger.txt")
    with path.open("rb") as source, larger.open("wb") as out:
        n_rows, rest = source.readline().split(b" ", 1)
        out.write(b"%d %s" % (int(n_rows) * times, rest))
        start = source.tell()
        for _ in range(times):
            source.seek(start)
            shutil.copyfileobj(source, out, 1 << 20)
    return larger


def peak_memory(path: Path) -> tuple[int, int]:
    """(bytes the process grows by at most, bytes of the result); the kernel is warm before."""
    read(tiny(path))
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    with use_threads(THREADS):
        dataset = read(path)
    return status("VmHWM") - before, nbytes(dataset.X) + nbytes(dataset.Y)


def tiny(path: Path) -> Path:
    small = path.with_name("small.txt")
    small.write_text("1 2 2\n0 1:1\n", encoding="ascii")
    return small


def status(key: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(key + ":")))


def nbytes(matrix: sp.csr_matrix | None) -> int:
    return 0 if matrix is None else matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes


def in_a_process(work: Callable[[Path], tuple[int, int]], path: Path) -> tuple[int, int]:
    """In a fresh process, so that memory that others have freed does not hide what is used."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, (path,))


if __name__ == "__main__":
    main()
