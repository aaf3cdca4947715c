"""The papers' networks trained by two processes: the same answers as by one, but for rounding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.methods.team_member import SHORT, fitted
from zipfel.methods.registry import method_class, method_names
from zipfel.system.threads import use_threads

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def by_two(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    folder = tmp_path_factory.mktemp("team")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    members = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.methods.team_member",
                str(rank),
                "2",
                str(folder / "meeting"),
                str(folder / name),
            ],
            cwd=ROOT,
            env=environment,
        )
        for rank, name in enumerate(("0.npz", "1.npz"))
    ]
    try:
        assert [member.wait(timeout=300) for member in members] == [0, 0]
    finally:
        for member in members:
            member.kill()
    with np.load(folder / "0.npz") as found:
        return dict(found)


@pytest.mark.parametrize("name", SHORT)
def test_two_processes_learn_what_one_learns(name: str, by_two: dict[str, np.ndarray]) -> None:
    with use_threads(1):
        alone = fitted(name)
    assert np.allclose(by_two[f"{name}:scores"], alone.scores, atol=1e-3, rtol=1e-3)
    assert np.mean(by_two[f"{name}:labels"] == alone.labels) > 0.98


def test_every_network_of_a_paper_is_there() -> None:
    networks = {name for name in method_names() if method_class(name).by_workers == "network"}
    assert networks == {name.partition("/")[0] for name in SHORT}
