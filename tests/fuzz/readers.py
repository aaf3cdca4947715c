"""Data files that are changed at random; those that reach new lines of the readers are changed further.

Each is read in a process with limits of time and memory. Inputs that did harm, or that reach lines of their own, are
kept in tests/corpus/readers and replayed by tests; a search with --keep adds to them.

    python -m tests.fuzz.readers --seed 1 --cases 3000 [--keep]
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import zipfel.data.streams as streams
from tests.fuzz.running import FINE, Outcome, run_cases, time_limit
from zipfel.data import read, read_documents, read_vocabulary
from zipfel.errors import ZipfelError

CORPUS = Path(__file__).resolve().parents[1] / "corpus" / "readers"
SECONDS, MEGABYTES = 10, 1000
LARGEST = 4096
READERS = str(Path(streams.__file__).parent)

SEEDS = {
    "a.jsonl": b'{"id": "1", "text": "a b", "labels": ["c"]}\n{"text": "e", "labels": "f", "features": {"1": 2}}\n',
    "a.csv": b'id,text,labels\n1,"a, ""b""",c;d\n2,"e\nf",\n',
    "a.tsv": b'text\tlabels\na\t<http://x.org/1> <http://x.org/2>\n"b\tc\n',
    "lists.csv": b"text,labels\na,\"['b', 'c\\x41']\"\nd,[]\n",
    "a.svm": b"1,2 3:4 5:6.5e1 # c\n\n7 8:9\n 1:2\n",
    "old.txt": b"2 5 4\n0,3 1:1 4:0.5\n1 2:1\n",
    "ft.txt": b"__label__a __label__b some text\nmore\n",
    "m.arff": b"@relation 'r: -C 1'\n@attribute a {0,1}\n@attribute 'b c' numeric\n@data\n{0 1,1 2.5}\n1,3\n",
    "v.ttl": b'@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n<http://x/1> a s:Concept ; s:prefLabel "a"@en .\n',
    "v.rdf": b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><r:Description r:about="x"/></r:RDF>',
}
TOKENS = [
    b"0",
    b"-1",
    b"99999999",
    b"1e309",
    b"nan",
    b"\xff",
    b"\x00",
    b'"',
    b"'",
    b"\\",
    b"[",
    b"{",
    b"}",
    b"]",
    b",",
    b":",
    b"\t",
]
TOKENS += [
    b" ",
    b"\n",
    b"\r\n",
    b"@data\n",
    b"__label__",
    b"<",
    b">",
    b";",
    b".",
    b"#",
    b"\xed\xa0\x80",
    b"\xe2\x80\xae",
    b"%",
]


@contextmanager
def lines_reached(into: set[tuple[str, int]]) -> Iterator[None]:
    """The lines of the readers that are run inside."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(READERS):
            return None
        into.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


def changed(data: bytes, rng: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(made))
        kind = rng.randrange(5)
        if kind == 0:
            made[at:at] = rng.choice(TOKENS) * rng.choice([1, 1, 2, 100])
        elif kind == 1:
            del made[at : at + rng.choice([1, 2, 10])]
        elif kind == 2:
            made[at : at + 1] = rng.choice(TOKENS)
        elif kind == 3:
            start = rng.randint(0, len(made))
            made[at:at] = made[start : start + rng.choice([5, 40, 400])]
        else:
            made[at : at + 1] = bytes([rng.randrange(256)])
    return bytes(made[:LARGEST])


def tried(name: str, data: bytes) -> str:
    """What came of it: "refused", "answers", or what should not have happened."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        readers: list[Any] = [read_vocabulary] if name.startswith("v.") else [read, read_documents]
        found = [_read(reader, path) for reader in readers]
    return next((came for came in found if came not in FINE), found[-1])


def _read(reader: Callable[[Path], object], path: Path) -> str:
    try:
        reader(path)
    except ZipfelError:
        return "refused"
    except MemoryError:
        return "takes too much memory"
    except Exception as error:  # noqa: BLE001 - that is the question
        return f"{type(error).__name__}: {error}"[:100]
    return "answers"


def child(seed: int, count: int) -> None:
    rng, reached = random.Random(seed), set[tuple[str, int]]()
    tried("a.svm", SEEDS["a.svm"])  # compiles
    pool = [*SEEDS.items(), *((path.name.partition("-")[2], path.read_bytes()) for path in kept())]
    for i in range(-len(pool), count):
        name, data = pool[i] if i < 0 else rng.choice(pool)
        data = data if i < 0 else changed(data, rng)
        print("try", json.dumps({"name": name, "data": base64.b64encode(data).decode()}), flush=True)
        new: set[tuple[str, int]] = set()
        with time_limit(SECONDS), lines_reached(new):
            came = tried(name, data)
        print("came", came, flush=True)
        if i >= 0 and new - reached:
            pool.append((name, data))
            print("new", json.dumps({"name": name, "data": base64.b64encode(data).decode()}), flush=True)
        reached |= new


def kept() -> list[Path]:
    return sorted(CORPUS.glob("*-*"))


def keep(name: str, data: bytes) -> None:
    (CORPUS / f"{hashlib.sha256(data).hexdigest()[:8]}-{name}").write_bytes(data)


def search(seed: int, count: int) -> tuple[list[Outcome], list[dict[str, str]]]:
    """(cases that failed, cases that reached new lines)"""
    new: list[dict[str, str]] = []
    outcomes = run_cases("tests.fuzz.readers", [{"seed": seed, "count": count}], MEGABYTES, new)
    return [found for found in outcomes if not found.is_fine], new


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        order = json.loads(sys.stdin.read())
        child(order["seed"], order["count"])
        return
    failed, new = search(options.seed, options.cases)
    for found in failed:
        print(found.came, found.case["name"], base64.b64decode(found.case["data"])[:300])
    for case in [*(found.case for found in failed), *new] if options.keep else []:
        keep(case["name"], base64.b64decode(case["data"]))
    print(f"{options.cases} cases, {len(failed)} failed, {len(new)} reached new lines", file=sys.stderr)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
