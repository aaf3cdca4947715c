"""Runs every (data set, system, seed) in its own process and appends the result to runs.jsonl. A bench that was stopped
continues there."""

from __future__ import annotations

import datetime
import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zipfel.bench.sources import Rows, Source, label_counts, prepare
from zipfel.bench.systems import Contestant, environment_of
from zipfel.metrics import Propensity, evaluate
from zipfel.ranking import Ranking

K = 5
KS = (1, 3, 5)
RUNS = "runs.jsonl"
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")

Record = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """What is to be run, and where the results go.

    timeout: seconds after which a run is given up. say: called with each message. propensity: "A,B" or a data set that
    has them, as for `Propensity.parse`; None: by each data set's name.
    """

    out: Path
    threads: int
    seeds: Sequence[int]
    weighting: str = "auto"
    timeout: float = 3600
    say: Callable[[str], None] = print
    propensity: str | None = None

    def run(self, sources: Sequence[Source], contestants: Sequence[Contestant]) -> list[Record]:
        """Runs what is not yet in runs.jsonl; returns the records of all that was asked for, failed ones too."""
        self.out.mkdir(parents=True, exist_ok=True)
        finished = {record["key"]: record for record in read_records(self.out / RUNS) if record["status"] == "ok"}
        asked = []
        for source in sources:
            rows = prepare(source, self.out, self.weighting, self.threads)
            for contestant in contestants:
                asked += self._runs_of(contestant, rows, finished)
        return asked

    def _runs_of(self, contestant: Contestant, rows: Rows, finished: dict[str, Record]) -> list[Record]:
        missing = [seed for seed in self.seeds if self._key(contestant, rows, seed) not in finished]
        if missing and contestant.ours:
            self._start(contestant, rows, missing[0], "warm-up")
        records = []
        for seed in self.seeds:
            record = finished.get(self._key(contestant, rows, seed)) or self._one(contestant, rows, seed)
            records.append(record)
            if record["status"] != "ok":
                break  # another seed would fail alike
        return records

    def _one(self, contestant: Contestant, rows: Rows, seed: int) -> Record:
        title = f"{rows.name} {contestant.name} seed {seed}"
        self.say(f"{title} ...")
        record = {
            "key": self._key(contestant, rows, seed),
            "data": rows.name,
            "system": contestant.name,
            "ours": contestant.ours,
            "version": contestant.version,
            "seed": seed,
            "threads": self.threads,
            "weighting": self.weighting,
            "when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": machine(),
            **self._start(contestant, rows, seed, "run"),
        }
        append_record(self.out / RUNS, record)
        self.say(f"{title}: {_in_short(record)}")
        return record

    def _key(self, contestant: Contestant, rows: Rows, seed: int) -> str:
        parts = (rows.name, rows.fingerprint, contestant.name, contestant.version, f"seed={seed}")
        own = () if self.propensity is None else (f"propensity={self.propensity}",)
        return " ".join((*parts, f"threads={self.threads}", *own))

    def _start(self, contestant: Contestant, rows: Rows, seed: int, verb: str) -> Record:
        """Runs the child; {"status": "ok", measurements...} or {"status": what went wrong}."""
        job = {
            "system": contestant.name,
            "rows": str(rows.folder.resolve()),
            "seed": seed,
            "threads": self.threads,
            "k": K,
        }
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=self.out)).resolve()
        try:
            (folder / "job.json").write_text(json.dumps(job))
            log = self._log(contestant, rows, seed)
            status = self._wait([*contestant.command, verb, str(folder / "job.json")], log)
            if status != "ok" or verb != "run":
                return {"status": status}
            result = json.loads((folder / "result.json").read_text())
            return {
                "status": "ok",
                **result,
                "metrics": _metrics(rows, np.load(folder / "labels.npy"), self.propensity),
            }
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _log(self, contestant: Contestant, rows: Rows, seed: int) -> Path:
        folder = self.out / "logs"
        folder.mkdir(exist_ok=True)
        name = "".join(c if c.isalnum() or c in "-.=" else "_" for c in contestant.name)
        return folder / f"{rows.name}.{name}.{seed}.log"

    def _wait(self, command: Sequence[str], log: Path) -> str:
        threads = dict.fromkeys(_THREAD_VARIABLES, str(self.threads))
        environment = {**environment_of(command[0]), "PYTHONWARNINGS": "ignore", **threads}
        with log.open("w") as stream:
            try:
                done = subprocess.run(
                    command, stdout=stream, stderr=subprocess.STDOUT, env=environment, timeout=self.timeout, check=False
                )
            except subprocess.TimeoutExpired:
                return f"given up after {self.timeout:g} s"
        if done.returncode == 0:
            return "ok"
        last = log.read_text(errors="replace").strip().rpartition("\n")[2]
        return f"failed: {last or f'exit code {done.returncode}'} (see {log})"


def _metrics(rows: Rows, labels: np.ndarray, constants: str | None) -> dict[str, float]:
    """All metrics, as a whole and per bucket, by the same hand for every system."""
    scores = np.where(labels < 0, -np.inf, -np.arange(labels.shape[1], dtype=np.float32)).astype(np.float32)
    counts, n_train = label_counts(rows)
    propensity = Propensity.of(rows.name) if constants is None else Propensity.parse(constants)
    found = evaluate(Ranking(labels, scores), rows.matrix("test", "Y"), counts, n_train, ks=KS, propensity=propensity)
    return {name: round(value, 6) for name, value in found.items()}


def _in_short(record: Record) -> str:
    if record["status"] != "ok":
        return str(record["status"])
    return (
        f"P@1 {100 * record['metrics']['P@1']:.2f}, {record['train_seconds']:.1f} s, {record['peak_mb']:.0f} MB of "
        f"memory, model {record['model_mb']:.1f} MB, {record['single_ms']:.2f} ms a document"
    )


def read_records(file: Path) -> Iterator[Record]:
    """What was written so far; a line that a crash cut short is left out."""
    if not file.is_file():
        return
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and "key" in record and "status" in record:
            yield record


def append_record(file: Path, record: Record) -> None:
    with file.open("a+b") as stream:
        if stream.tell() and not _ends_with_newline(file):
            stream.write(b"\n")
        stream.write(json.dumps(record).encode() + b"\n")


def _ends_with_newline(file: Path) -> bool:
    with file.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"


def machine() -> dict[str, Any]:
    """The hardware line of the tables."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        cpu = names[0] if names else cpu
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gb": round(memory),
        "system": platform.system(),
        "python": platform.python_version(),
    }
