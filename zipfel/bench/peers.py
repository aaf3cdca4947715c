"""Existing classifiers behind one set of calls, and how a run of any system is measured.

This file is run by path, in an environment that has the peer and not zipfel; it needs numpy and scipy only:

    python peers.py probe omikuji-bonsai      prints the peer's version, or says that it is absent
    python peers.py run JOB.json              fits, predicts, measures; writes result.json and labels.npy beside the job

A job: {"system", "rows", "seed", "threads", "k"}; rows is a folder with {train,test}.{X,Y}.npz and train.txt (XMC).
Package defaults throughout, except that Bonsai is omikuji with the settings its paper gives.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp

SINGLES, WARM_UPS = 200, 20
"""Documents that are asked one by one: the median of their times counts; and those asked before, untimed."""

Job = dict[str, Any]


class System(Protocol):
    """What `measure` asks of a classifier; everything heavy is imported when it is built, which is not timed."""

    package: str  # whose version is recorded
    params: dict[str, Any]

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
        """Timed as training."""

    def reload(self, folder: str) -> None:
        """Writes the model to the folder and reads it back: what predicts is what was kept. Not timed as training."""

    def predict(self, X: sp.csr_matrix, k: int) -> Any:
        """(n, k) label ids, best first, -1 pads."""

    def predict_one(self, x: sp.csr_matrix, k: int) -> Any:
        """The labels of one document, as the system's own call gives them."""


class Omikuji:
    """Parabel: balanced trees of linear classifiers. Trains from a file; its parameters have no seed."""

    package = "omikuji"
    settings: ClassVar[dict[str, Any]] = {}

    def __init__(self, job: Job) -> None:
        self.lib = importlib.import_module("omikuji")
        self.file, self.threads = str(Path(job["rows"], "train.txt")), job["threads"]
        self.params = dict(self.settings)

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> None:  # noqa: ARG002 - it reads the file itself
        settings = self.lib.Model.default_hyper_param()
        for name, value in self.settings.items():
            setattr(settings, name, value)
        self.model = self.lib.Model.train_on_data(self.file, settings, n_threads=self.threads)

    def reload(self, folder: str) -> None:
        self.model.save(folder)
        self.model = self.lib.Model.load(folder)
        self.model.init_prediction_thread_pool(self.threads)

    def predict(self, X: sp.csr_matrix, k: int) -> Any:
        """One call a document: the package has no other."""
        return padded([self.predict_one(X[i], k) for i in range(X.shape[0])], k)

    def predict_one(self, x: sp.csr_matrix, k: int) -> Any:
        pairs = list(zip(x.indices.tolist(), x.data.tolist(), strict=True))
        return [label for label, _ in self.model.predict(pairs, top_k=k)]


class Bonsai(Omikuji):
    """Shallow unbalanced trees."""

    settings: ClassVar[dict[str, Any]] = {"cluster_k": 100, "max_depth": 3, "cluster_balanced": False}


class NapkinPLT:
    """Probabilistic label trees."""

    package = "napkinxc"

    def __init__(self, job: Job) -> None:
        self.lib = importlib.import_module("napkinxc.models")
        self.job = job
        self.params: dict[str, Any] = {}
        self.folder = str(Path(job["folder"], "model"))

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
        self.model = self.lib.PLT(self.folder, seed=self.job["seed"], threads=self.job["threads"])
        self.model.fit(X, Y)

    def reload(self, folder: str) -> None:  # noqa: ARG002
        self.model.load()  # fit has written it

    def predict(self, X: sp.csr_matrix, k: int) -> Any:
        return padded(self.model.predict(X, top_k=k), k)

    def predict_one(self, x: sp.csr_matrix, k: int) -> Any:
        return self.model.predict(x, top_k=k)[0]


class PecosXRLinear:
    """Recursive linear models over hierarchical k-means of labels."""

    package = "libpecos"

    def __init__(self, job: Job) -> None:
        self.xmc = importlib.import_module("pecos.xmc")
        self.lib = importlib.import_module("pecos.xmc.xlinear.model").XLinearModel
        self.seed, self.threads = job["seed"], job["threads"]
        self.params = {"label features": "pifa", "indexer": "hierarchicalkmeans"}

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
        Y = sp.csc_matrix(Y)
        features = self.xmc.LabelEmbeddingFactory.create(Y, X, method="pifa", threads=self.threads)
        chain = self.xmc.Indexer.gen(features, indexer_type="hierarchicalkmeans", threads=self.threads, seed=self.seed)
        self.model = self.lib.train(X, Y, C=chain, threads=self.threads)

    def reload(self, folder: str) -> None:
        self.model.save(folder)
        self.model = self.lib.load(folder, is_predict_only=True)

    def predict(self, X: sp.csr_matrix, k: int) -> Any:
        return best_of_csr(sp.csr_matrix(self.model.predict(X, only_topk=k, threads=self.threads)), k)

    def predict_one(self, x: sp.csr_matrix, k: int) -> Any:
        return self.model.predict(x, only_topk=k, threads=1)  # a second thread only waits


class SklearnOvr:
    """One linear SVM a label; predicts by one product with all coefficients, not by its own loop over labels."""

    package = "scikit-learn"
    most_labels = 1000

    def __init__(self, job: Job) -> None:
        self.svm = importlib.import_module("sklearn.svm").LinearSVC(random_state=job["seed"])
        self.multiclass = importlib.import_module("sklearn.multiclass")
        self.joblib = importlib.import_module("joblib")
        self.threads = job["threads"]
        self.params: dict[str, Any] = {}

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
        if Y.shape[1] > self.most_labels:
            raise SystemExit(f"sklearn-ovr is only run up to {self.most_labels} labels, here are {Y.shape[1]}")
        with self.joblib.parallel_backend("threading"):  # so that its memory is seen
            self.model = self.multiclass.OneVsRestClassifier(self.svm, n_jobs=self.threads).fit(X, Y)

    def reload(self, folder: str) -> None:
        classifiers = self.model.estimators_
        width = max(c.coef_.shape[1] for c in classifiers if hasattr(c, "coef_"))
        W, b = np.zeros((width, len(classifiers))), np.full(len(classifiers), -1e30)  # a label never seen is never said
        for label, classifier in enumerate(classifiers):
            if hasattr(classifier, "coef_"):
                W[:, label], b[label] = classifier.coef_.ravel(), classifier.intercept_[0]
        Path(folder).mkdir()
        np.savez(Path(folder, "model.npz"), W=W, b=b)
        with np.load(Path(folder, "model.npz")) as kept:
            self.W, self.b = kept["W"], kept["b"]

    def predict(self, X: sp.csr_matrix, k: int) -> Any:
        return np.vstack([self.predict_one(X[i : i + 2048], k) for i in range(0, X.shape[0], 2048)])

    def predict_one(self, x: sp.csr_matrix, k: int) -> Any:
        scores = x @ self.W + self.b
        best = np.argpartition(-scores, k - 1, axis=1)[:, :k] if scores.shape[1] > k else np.argsort(-scores, axis=1)
        order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1, kind="stable")
        return padded(np.take_along_axis(best, order, 1).tolist(), k)


PEERS: dict[str, Callable[[Job], System]] = {
    "omikuji-parabel": Omikuji,
    "omikuji-bonsai": Bonsai,
    "napkinxc-plt": NapkinPLT,
    "pecos-xrlinear": PecosXRLinear,
    "sklearn-ovr": SklearnOvr,
}


def padded(lists: Any, k: int) -> Any:
    """(n, k) label ids, -1 where a list is shorter."""
    labels = np.full((len(lists), k), -1, dtype=np.int64)
    for row, found in zip(labels, lists, strict=True):
        row[: len(found)] = list(found)[:k]
    return labels


def best_of_csr(scores: sp.csr_matrix, k: int) -> Any:
    """The k columns with the largest stored values of each row, best first."""
    runs = zip(scores.indptr[:-1], scores.indptr[1:], strict=True)
    return padded([scores.indices[a:b][np.argsort(-scores.data[a:b], kind="stable")[:k]].tolist() for a, b in runs], k)


def load_rows(folder: str, part: str, what: str) -> sp.csr_matrix:
    return sp.csr_matrix(sp.load_npz(Path(folder, f"{part}.{what}.npz")))


def peak_mb() -> float:
    """The most memory this process ever held; of this program, not of the one that started it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        scale = 2**20 if platform.system() == "Darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def folder_mb(folder: str) -> float:
    return sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file()) / 1e6


def measure(make: Callable[[Job], System], job: Job) -> None:
    """One run of one system; what came out is written beside the job."""
    model, k = str(Path(job["folder"], "model")), job["k"]
    system = make(job)
    X, Y = load_rows(job["rows"], "train", "X"), load_rows(job["rows"], "train", "Y")
    start = time.perf_counter()
    system.fit(X, Y)
    train_seconds, train_peak = time.perf_counter() - start, peak_mb()
    del X, Y
    system.reload(model)
    X = load_rows(job["rows"], "test", "X")
    single_ms = median_ms(system, X, k)
    start = time.perf_counter()
    labels = system.predict(X, k)
    batch_ms = 1000 * (time.perf_counter() - start) / max(1, X.shape[0])
    np.save(Path(job["folder"], "labels.npy"), np.asarray(labels, dtype=np.int64))
    result = {
        "train_seconds": train_seconds,
        "train_peak_mb": train_peak,
        "peak_mb": peak_mb(),
        "model_mb": folder_mb(model),
        "batch_ms": batch_ms,
        "single_ms": single_ms,
        "params": system.params,
        "phases": getattr(system, "phases", {}),
    }
    Path(job["folder"], "result.json").write_text(json.dumps(result))


def median_ms(system: System, X: sp.csr_matrix, k: int) -> float:
    """Milliseconds of one document: median over a fixed draw of documents, after a few that do not count."""
    order = np.random.default_rng(0).permutation(X.shape[0])
    rows = [X[i] for i in order[: SINGLES + WARM_UPS]]
    times = []
    for x in rows[-WARM_UPS:] + rows[:SINGLES]:
        start = time.perf_counter()
        system.predict_one(x, k)
        times.append(time.perf_counter() - start)
    return float(1000 * np.median(times[WARM_UPS:] or times))


def use_cores(threads: int) -> None:
    """As many cores as threads, so that no system quietly takes more."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def read_job(path: str) -> Job:
    job: Job = json.loads(Path(path).read_text())
    use_cores(job["threads"])
    return {**job, "folder": str(Path(path).parent)}


def main() -> None:
    verb, word = sys.argv[1:]
    if verb == "probe":
        peer: Any = PEERS[word]
        try:
            print(metadata.version(peer.package))
        except metadata.PackageNotFoundError:
            raise SystemExit(f"{peer.package} is not installed") from None
    else:
        job = read_job(word)
        measure(PEERS[job["system"]], job)


if __name__ == "__main__":
    main()
