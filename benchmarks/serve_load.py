"""`zipfel serve` under load, by wrk (apt-get install wrk): python -m benchmarks.serve_load [--model FOLDER] ...

One text a request, all texts different, server and load generator on the same cores. First as many connections as the
service answers well, for a minute; then ten times as many, while a further client measures the requests that are
accepted. Without --model it fits the default method on debian-deps from the shared data folder beside the checkout.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Bar
from zipfel.bench.runner import machine

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "debian-deps"
N_TEXTS = 4000
SCRIPT = """
local bodies, i = {}, 0
for line in io.lines(os.getenv("ZIPFEL_BODIES")) do bodies[#bodies + 1] = line end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function request() i = i % #bodies + 1; return wrk.format(nil, nil, nil, bodies[i]) end
function done(summary, latency, requests)
  local e, p = summary.errors, function(share) return latency:percentile(share) / 1e3 end
  local told = {
    requests = summary.requests, seconds = summary.duration / 1e6, p50 = p(50), p90 = p(90), p99 = p(99),
    max = latency.max / 1e3, broken = e.connect + e.read + e.write + e.timeout, refused = e.status,
  }
  local parts = {}
  for name, value in pairs(told) do parts[#parts + 1] = string.format('"%s": %.3f', name, value) end
  io.write("\\nJSON {" .. table.concat(parts, ", ") .. "}\\n")
end
"""


@dataclass(frozen=True)
class Load:
    """What wrk measured; times in ms. broken: requests without an answer; refused: answers of a status from 400 on."""

    requests: float
    seconds: float
    p50: float
    p90: float
    p99: float
    max: float
    broken: float
    refused: float

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    def line(self) -> str:
        times = f"p50 {self.p50:.1f}, p90 {self.p90:.1f}, p99 {self.p99:.1f}, max {self.max:.1f} ms"
        return f"{self.rate:,.0f} answers/s; {times}; {self.refused:,.0f} refused, {self.broken:,.0f} broken"


@contextmanager
def serving(model: Path, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """(address, process) of `zipfel serve`, its log in a file."""
    with tempfile.TemporaryFile("w+") as log:
        command = [sys.executable, "-m", "zipfel", "serve", str(model), "--port", "0", *words]
        process = subprocess.Popen(command, stderr=log, text=True)
        try:
            yield _address(process, log), process
        finally:
            process.terminate()
            process.wait(60)


def _address(process: subprocess.Popen[str], log: Any) -> str:
    for _ in range(600):
        log.seek(0)
        found = [line.split()[-1] for line in log if line.startswith("serving on ")]
        if found:
            return found[0]
        if process.poll() is not None:
            break
        time.sleep(0.2)
    raise OSError("the service did not start")


def press(address: str, bodies: Path, connections: int, seconds: int) -> Load:
    """Runs wrk: each connection sends its next request when the last one is answered."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT)
        script.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", script.name]
        environment = {**os.environ, "ZIPFEL_BODIES": str(bodies)}
        done = subprocess.run(
            [*command, f"{address}/v1/predict"], env=environment, capture_output=True, text=True, check=True
        )
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("JSON ")]
    return Load(**json.loads(line[5:]))


class Probe:
    """One client that asks again and again, and keeps the milliseconds of what was accepted; refused: answers 429."""

    def __init__(self, address: str, bodies: Path) -> None:
        self.milliseconds: list[float] = []
        self.refused, self.other = 0, 0
        self._host, self._bodies = address.removeprefix("http://"), bodies.read_bytes().splitlines()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Probe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        connection = http.client.HTTPConnection(self._host, timeout=30)
        for i in range(10**9):
            if self._stop.is_set():
                break
            start = time.perf_counter()
            body = self._bodies[i % len(self._bodies)]
            connection.request("POST", "/v1/predict", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                self.milliseconds.append(1000 * (time.perf_counter() - start))
            elif answer.status == 429:
                self.refused += 1
            else:
                self.other += 1
        connection.close()

    def percentile(self, share: float) -> float:
        return float(np.percentile(self.milliseconds, share)) if self.milliseconds else float("inf")


def memory(process: subprocess.Popen[str]) -> float:
    """Resident megabytes."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def counted(address: str) -> dict[str, int]:
    """Answers by status, as /metrics counts them."""
    found: dict[str, int] = {}
    with urllib.request.urlopen(f"{address}/metrics", timeout=20) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith('zipfel_requests_total{route="/v1/predict"') or '"other"' in line:
                status = line.partition('status="')[2][:3]
                found[status] = found.get(status, 0) + int(line.split()[-1])
    return found


def fitted(folder: Path) -> Path:
    """The default method on debian-deps."""
    from zipfel import Zipfel
    from zipfel.data import read

    print("fitting the default method on debian-deps", flush=True)
    Zipfel().fit(read(str(SHARED / "train.jsonl.gz"))).save(folder / "debian-deps")
    return folder / "debian-deps"


def write_bodies(target: Path, texts: Path) -> None:
    """A request's body a line."""
    with gzip.open(texts, "rt") if texts.suffix == ".gz" else texts.open() as lines, target.open("w") as out:
        for line, _ in zip(lines, range(N_TEXTS), strict=False):
            out.write(json.dumps({"text": json.loads(line)["text"]}) + "\n")


def main(model: Path | None = None, texts: Path | None = None, connections: int = 16, seconds: int = 60) -> list[Bar]:
    if shutil.which("wrk") is None:
        raise OSError("needs wrk: apt-get install wrk")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_bodies(folder / "bodies", texts or SHARED / "test.jsonl.gz")
        with serving(model or fitted(folder), "--quiet") as (address, process):
            return measure(address, process, folder / "bodies", connections, seconds)


def measure(address: str, process: subprocess.Popen[str], bodies: Path, connections: int, seconds: int) -> list[Bar]:
    press(address, bodies, connections, 3)  # memory and caches are as they stay
    before = memory(process)
    load = press(address, bodies, connections, seconds)
    after = memory(process)
    print(f"{connections} connections, {seconds} s: {load.line()}")
    print(f"  memory {before:.0f} MB before, {after:.0f} MB after")
    told = counted(address)
    with Probe(address, bodies) as probe:
        full = press(address, bodies, 10 * connections, seconds // 3)
    statuses = {status: n - told.get(status, 0) for status, n in counted(address).items()}
    strange = {status: n for status, n in statuses.items() if status not in ("200", "429") and n}
    print(f"{10 * connections} connections, {seconds // 3} s: {full.line()}")
    print(
        f"  accepted: p50 {probe.percentile(50):.1f}, p99 {probe.percentile(99):.1f} ms of {len(probe.milliseconds):,}"
    )
    print(f"  answers by status: {statuses}")
    return [
        Bar("serve, one-text requests a second", load.rate, 500, unit="/s"),
        Bar("serve, p99", load.p99, 50, at_least=False, unit="ms"),
        Bar("serve, errors", load.broken + load.refused, 0, at_least=False, unit=""),
        Bar("serve, memory after to before", after / before, 1.05, at_least=False),
        Bar("serve, ten times the connections, p99 of what is accepted", probe.percentile(99), 200, False, "ms"),
        Bar("serve, ten times the connections, neither 200 nor 429", sum(strange.values()) + full.broken, 0, False, ""),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--texts", type=Path, help="JSONL with `text`, may be .gz")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    bars = main(given.model, given.texts, given.connections, given.seconds)
    print("\n{cpu}, {cores} cores, {memory_gb} GB, {system}, Python {python}".format(**machine()))
    for bar in bars:
        print("  ".join(bar.cells()))
