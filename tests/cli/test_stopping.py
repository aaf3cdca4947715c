"""Ctrl-C and SIGTERM at random moments of every command: one sentence, the right exit code, nothing half-written."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_main import ROWS, zipfel

SLOW = {"fit", "update", "predict", "evaluate", "explain", "convert"}
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
SAID = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


def start(folder: Path, *words: object) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "zipfel", *map(str, words)]
    return subprocess.Popen(command, cwd=folder, text=True, stdin=pipe, stdout=pipe, stderr=pipe)


@pytest.mark.parametrize("number", CODES)
def test_a_command_that_waits_for_input_ends_in_one_sentence_and_leaves_nothing(number: int, tmp_path: Path) -> None:
    with start(tmp_path, "fit", "-", "--method", "knn", "--out", "model") as process:
        assert process.stdin is not None
        process.stdin.write('{"text": "a", "labels": ["b"]}\n')
        process.stdin.flush()
        time.sleep(4)  # by then it waits for more documents
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == CODES[number]
    assert said == f"zipfel: stopped by {SAID[number]}; nothing was left half-written\n"
    assert not list(tmp_path.iterdir())


def test_the_main_thread_runs_what_a_command_asks_it_to(tmp_path: Path) -> None:
    code = (
        "import threading\n"
        "from zipfel.cli.stopping import in_main_thread, supervised\n"
        "name = lambda: threading.current_thread().name\n"
        "print(supervised(lambda: (name(), in_main_thread(name))))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "('zipfel-command', 'MainThread')", done.stderr


def test_what_the_command_raises_is_raised() -> None:
    code = (
        "from zipfel.cli.stopping import supervised\n"
        "try:\n    supervised(lambda: 1 / 0)\nexcept ZeroDivisionError:\n    print('raised')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "raised\n"


def test_a_stopped_command_that_does_not_end_is_left_behind(tmp_path: Path) -> None:
    code = (
        "import os, signal, time\n"
        "from zipfel.cli import stopping\n"
        "from zipfel.system.temporary import scratch_beside\n"
        "from pathlib import Path\n"
        "stopping.GRACE = 0.1\n"
        "def work():\n"
        "    with stopping.when_stopped(lambda: 'a hint'), scratch_beside(Path('model')) as path:\n"
        "        path.mkdir()\n"
        "        (path / 'tensors').write_text('half')\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(60)\n"
        "stopping.supervised(work)\n"
    )
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert time.monotonic() - begun < 30
    assert done.returncode == 130
    assert done.stderr.splitlines()[1:] == ["a hint"]
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("command", sorted(SLOW))
def test_at_random_moments(command: str, threads: int, tmp_path: Path) -> None:
    """Five moments of each command with each number of threads: 60 in all."""
    words = _words(command, tmp_path)
    if command not in ("convert",):
        words += ["--threads", str(threads)]
    length = _seconds(tmp_path, words)
    draw = random.Random(f"{command} {threads}")
    before = {path.name for path in tmp_path.iterdir()}
    for i in range(5):
        number = (signal.SIGINT, signal.SIGTERM)[i % 2]
        with start(tmp_path, *words) as process:
            _await_handler(process)
            time.sleep(draw.random() * max(0.5, length - 0.2))
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
        assert process.returncode in (0, CODES[number]), said
        assert "Traceback" not in said
        assert "SystemError" not in said
        assert (SAID[number] in said) == (process.returncode != 0)
        left = {path.name for path in tmp_path.iterdir()} - before
        assert left <= {"out", "out.checkpoint", "out.jsonl"}


def _await_handler(process: subprocess.Popen[str]) -> None:
    """Until zipfel handles SIGTERM: on a busy machine, the interpreter alone may take a second to start."""
    status = Path(f"/proc/{process.pid}/status")
    while status.exists() and process.poll() is None:
        caught = next((line for line in status.read_text().splitlines() if line.startswith("SigCgt")), "SigCgt: 0")
        if int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.01)


def _words(command: str, folder: Path) -> list[str]:
    data = folder / "data.jsonl"
    draw = random.Random(1)
    names = [f"word{i}" for i in range(2000)]
    with data.open("w") as file:
        for i in range(3000):
            row = {"id": str(i), "text": " ".join(draw.choices(names, k=60)), "labels": draw.sample(names[:300], 3)}
            file.write(json.dumps(row) + "\n")
    if command == "fit":
        return ["fit", str(data), "--preset", "quick", "--out", "out"]
    if command == "convert":
        return ["data", "convert", str(data), "out.jsonl", "--force"]
    small = folder / "small.jsonl"
    small.write_text("".join(json.dumps(row) + "\n" for row in ROWS * 50))
    assert zipfel("fit", small, "--out", folder / "model", "--preset", "quick").exit_code == 0
    more = {"update": [str(data), "--out", "out"], "explain": ["red bike"]}
    return [command, str(folder / "model"), *more.get(command, [str(data)])]


def _seconds(folder: Path, words: list[str]) -> float:
    begun = time.monotonic()
    with start(folder, *words) as process:
        _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return time.monotonic() - begun
