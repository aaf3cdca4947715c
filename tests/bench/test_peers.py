from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.bench import peers


class Echo:
    """Says a document's largest feature; keeps a file of 1,000 bytes."""

    package = "none"

    def __init__(self, job: peers.Job) -> None:
        self.params: dict[str, Any] = {"seed": job["seed"]}
        self.asked_alone = 0

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
        self.shapes = X.shape, Y.shape

    def reload(self, folder: str) -> None:
        Path(folder).mkdir()
        Path(folder, "weights").write_bytes(b"x" * 1000)

    def predict(self, X: sp.csr_matrix, k: int) -> Any:
        return peers.best_of_csr(X, k)

    def predict_one(self, x: sp.csr_matrix, k: int) -> Any:
        assert x.shape[0] == 1
        return self.predict(x, k)


def write_rows(folder: Path, n_points: int = 6) -> sp.csr_matrix:
    X = sp.csr_matrix(np.random.default_rng(0).random((n_points, 4), dtype=np.float32))
    for part in ("train", "test"):
        sp.save_npz(folder / f"{part}.X.npz", X)
        sp.save_npz(folder / f"{part}.Y.npz", sp.identity(n_points, format="csr"))
    return X


def test_measure_writes_result_and_labels_beside_the_job(tmp_path: Path) -> None:
    X = write_rows(tmp_path)
    peers.measure(Echo, {"rows": str(tmp_path), "folder": str(tmp_path), "seed": 7, "threads": 1, "k": 2})
    labels = np.load(tmp_path / "labels.npy")
    assert labels.tolist() == np.argsort(-X.toarray(), axis=1)[:, :2].tolist()
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["model_mb"] == pytest.approx(0.001)
    assert result["params"] == {"seed": 7}
    assert result["peak_mb"] >= result["train_peak_mb"] > 10
    assert min(result[key] for key in ("train_seconds", "batch_ms", "single_ms")) > 0


def test_median_is_over_the_documents_after_the_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10_000))
    took = [100] * peers.WARM_UPS + [1, 2, 30]
    ticks = [tick for seconds in took for tick in (0, seconds)]
    monkeypatch.setattr(peers.time, "perf_counter", lambda: ticks[next(clock)])
    monkeypatch.setattr(peers, "SINGLES", 3)
    X = sp.identity(40, format="csr")
    assert peers.median_ms(Echo({"seed": 0}), X, 1) == 2000


def test_best_of_csr_ranks_stored_values_and_pads() -> None:
    scores = sp.csr_matrix(np.array([[0, 3, 5, 4], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=np.float32))
    assert peers.best_of_csr(scores, 2).tolist() == [[2, 3], [3, -1], [-1, -1]]


def test_scikit_learn_finds_what_is_easy(tmp_path: Path) -> None:
    X = sp.csr_matrix(np.tile(np.eye(3, dtype=np.float32), (10, 1)))
    system = peers.SklearnOvr({"seed": 0, "threads": 1})
    system.fit(X, X)
    system.reload(str(tmp_path / "model"))
    assert system.predict(X[:3], 5).tolist() == [[0, 1, 2, -1, -1], [1, 0, 2, -1, -1], [2, 0, 1, -1, -1]]


def test_runs_by_path_without_zipfel(tmp_path: Path) -> None:
    """It must work where zipfel is not installed, so it must not import it."""
    code = "import runpy, sys; runpy.run_path(sys.argv[1]); print([m for m in sys.modules if m.startswith('zipfel')])"
    done = subprocess.run([sys.executable, "-c", code, peers.__file__], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_probe_says_the_version_or_that_it_is_absent(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["peers.py", "probe", "sklearn-ovr"])
    peers.main()
    assert capsys.readouterr().out[0].isdigit()
    monkeypatch.setattr(peers.SklearnOvr, "package", "no-such-package")
    with pytest.raises(SystemExit, match="no-such-package is not installed"):
        peers.main()
