"""Who takes part: zipfel's methods with their settings, and peers with the Python that has them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import zipfel
from zipfel.bench import peers
from zipfel.errors import ParameterError, nearest
from zipfel.methods import make_method

FAMILIES = {
    "omikuji": ("omikuji-parabel", "omikuji-bonsai"),
    "napkinxc": ("napkinxc-plt",),
    "pecos": ("pecos-xrlinear",),
    "sklearn-ovr": ("sklearn-ovr",),
}
"""What `--peers` takes; the members of a family share a Python."""

INSTALL = {
    "omikuji": "omikuji",
    "napkinxc": "napkinxc",
    "pecos": "'numpy<2' libpecos",  # in an environment of its own
    "sklearn-ovr": "scikit-learn",
}

_METHOD = re.compile(r"(?P<name>[\w-]+)(:(?P<preset>[\w-]+))?(\[(?P<settings>[^\]]*)\])?")


@dataclass(frozen=True)
class Contestant:
    """One system of a benchmark: a method of ours, or a peer in the Python that has it."""

    name: str
    version: str
    command: tuple[str, ...]  # before the verb and the job
    ours: bool = False


def parse_method(word: str) -> tuple[str, str | None, dict[str, str]]:
    """(name, preset, settings) of a word such as `auto:quick[ranker.enabled=false;dim=64]`."""
    found = _METHOD.fullmatch(word)
    if found is None:
        raise ParameterError(f"a method is NAME, NAME:PRESET or NAME[key=value;key=value], got {word!r}")
    pairs = [pair.partition("=") for pair in (found["settings"] or "").split(";") if pair]
    if any(not equals for _, equals, _ in pairs):
        raise ParameterError(f"settings of a method are key=value, with ; between them, got {word!r}")
    return found["name"], found["preset"], {key.strip(): value.strip() for key, _, value in pairs}


def our_methods(words: Sequence[str]) -> list[Contestant]:
    """Checked before anything runs: a typing error should not cost an hour."""
    for word in words:
        name, preset, settings = parse_method(word)
        make_method(name, settings, preset)
    command = (sys.executable, "-m", "zipfel.bench.worker")
    return [Contestant(word, zipfel.__version__, command, ours=True) for word in words]


def present_peers(words: Sequence[str], pythons: Mapping[str, str], say: Callable[[str], None]) -> list[Contestant]:
    """The peers that are installed; for each that is not, `say` tells how to get it."""
    for word in pythons:
        _family(word)
    found = []
    for word in words:
        family, members = _family(word)
        python = pythons.get(family) or os.environ.get(_variable(family)) or sys.executable
        for name in members:
            command = (python, str(Path(peers.__file__)))
            version = _probe((*command, "probe", name))
            if version is None:
                say(_hint(name, family, python))
            else:
                found.append(Contestant(name, version, command))
    return found


def environment_of(python: str) -> dict[str, str]:
    """Of a child: ours finds the zipfel that is running, a peer's own Python none of our packages."""
    hidden = {"PYTHONPATH", "PYTHONHOME"}
    found = {name: value for name, value in os.environ.items() if name not in hidden}
    if python == sys.executable:
        path = [str(Path(zipfel.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        found["PYTHONPATH"] = os.pathsep.join(part for part in path if part)
    return found


def _family(word: str) -> tuple[str, tuple[str, ...]]:
    for family, members in FAMILIES.items():
        if word == family:
            return family, members
        if word in members:
            return family, (word,)
    known = [*FAMILIES, *(name for members in FAMILIES.values() for name in members)]
    raise ParameterError(f"unknown peer {word!r}{nearest(word, known)}")


def _variable(family: str) -> str:
    return "ZIPFEL_PEER_" + family.upper().replace("-", "_")


def _probe(command: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False, env=environment_of(command[0])
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _hint(name: str, family: str, python: str) -> str:
    return (
        f"{name} is skipped: it can't be found by {python}. Install it there (pip install {INSTALL[family]}), or name "
        f"the Python that has it with --peer-python {family}=PATH or the variable {_variable(family)}"
    )
