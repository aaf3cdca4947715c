"""Tries the built wheel as a stranger would: python scripts/check_wheel.py DIST

Installs it without its dependencies into a folder of its own, runs it from another folder with the packages of this
Python, and checks that what runs is the wheel and not the checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST_BYTES = 8 << 20
NEEDED = (
    "zipfel/py.typed",
    "zipfel/datasets/debian-tags.train.jsonl.zst",
    "zipfel/datasets/debian-tags.test.jsonl.zst",
)
FOREIGN = ("tests/", "benchmarks/", "scripts/", "docs/")

LOADS = """
import zipfel, zipfel.datasets
train, test = zipfel.datasets.load("debian-tags")
assert (train.n_points, test.n_points) == (18_621, 4_432), (train.n_points, test.n_points)
print(zipfel.__file__)
"""


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    wheel = the_wheel(Path(sys.argv[1]))
    check_contents(wheel)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        target = home / "installed"
        run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), str(wheel)], home)
        found = run([sys.executable, "-m", "zipfel", "--version"], home, target)
        version = wheel.name.split("-")[1]
        if found.strip() != f"zipfel {version}":
            raise SystemExit(f"the wheel is version {version}, but it says {found.strip()!r}")
        place = Path(run([sys.executable, "-c", LOADS], home, target).strip())
        if target not in place.resolve().parents:
            raise SystemExit(f"not the wheel ran, but {place}")
        tag_a_text(home, target)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, installs, runs, and brings its data")


def the_wheel(folder: Path) -> Path:
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"{folder} must hold one wheel, there are {len(wheels)}: run make wheel")
    return wheels[0].resolve()


def check_contents(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in NEEDED if name not in names]
    foreign = [name for name in names if name.startswith(FOREIGN)]
    if missing or foreign:
        raise SystemExit(f"{wheel.name} lacks {missing} and should not have {foreign[:5]}")
    if wheel.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {MOST_BYTES:,}")


def tag_a_text(home: Path, target: Path) -> None:
    """From a file of documents to an answer, with the installed command line."""
    lines = ['{"text": "a red bike", "labels": ["bike"]}', '{"text": "a blue boat", "labels": ["boat"]}'] * 20
    (home / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    zipfel = [sys.executable, "-m", "zipfel"]
    run([*zipfel, "fit", "train.jsonl", "--method", "centroid", "--out", "model"], home, target)
    answer = run([*zipfel, "predict", "model", "train.jsonl", "-k", "1", "--json"], home, target)
    if '"bike"' not in answer.splitlines()[0]:
        raise SystemExit(f"a red bike is not tagged bike: {answer.splitlines()[0]}")


def run(command: list[str], home: Path, target: Path | None = None) -> str:
    environment = {**os.environ, **({"PYTHONPATH": str(target)} if target else {})}
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
