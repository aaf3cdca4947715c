"""A small training that can be run in a process of its own, to be killed: prints a digest of what it learned."""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from zipfel.kernels.bag import encode_bag
from zipfel.losses.bce import candidate_bce
from zipfel.nn.bag import bag
from zipfel.nn.score import candidate_scores
from zipfel.nn.seeded import Dropout, linear
from zipfel.nn.table import Table
from zipfel.run import Run
from zipfel.training import Batch, Batches, CandidateSampler, History, Plan, Trainer


def points(n: int = 300) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Each of 40 labels has three features of its own, among noise."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 40, size=n)
    rows = np.repeat(np.arange(n), 6)
    columns = np.concatenate([label[:, None] * 3 + np.arange(3), 120 + rng.integers(0, 80, size=(n, 3))], axis=1)
    X = sp.csr_matrix((np.ones(6 * n, np.float32), (rows, columns.ravel())), shape=(n, 200))
    Y = sp.csr_matrix((np.ones(n, np.float32), (np.arange(n), label)), shape=(n, 40))
    X.sum_duplicates()
    return X, Y


class Shortlists:
    """Stands for what a method rebuilds every second epoch and must not lose."""

    def __init__(self, sampler: CandidateSampler) -> None:
        self.sampler = sampler

    def state(self) -> dict[str, Tensor]:
        assert self.sampler.shortlist is not None
        return {"shortlist": torch.from_numpy(self.sampler.shortlist)}

    def restore(self, state: dict[str, Tensor]) -> None:  # type: ignore[override]
        self.sampler.shortlist = state["shortlist"].numpy()


def train(run: Run, *, epochs: int = 6, pause: float = 0.0, **plan: object) -> tuple[History, dict[str, Table]]:
    X, Y = points()
    tables = {"features": Table.normal(200, 8, 0.3, run.rng(1)), "labels": Table.zeros(40, 8)}
    module = nn.Sequential(linear(8, 8, torch.Generator().manual_seed(run.seed)), Dropout(0.2))
    sampler = CandidateSampler(Y, n_sampled=3, n_hard=2)
    sampler.shortlist = np.zeros((300, 4), dtype=np.int64)
    batches = Batches(X, Y, size=32, seed=run.seed, candidates=sampler, keep=0.9)

    def objective(batch: Batch, rows: dict[str, Tensor]) -> Tensor:
        assert batch.candidates is not None
        time.sleep(pause)
        logits = candidate_scores(module(bag(rows["features"], batch.X)), rows["labels"])
        return candidate_bce(logits, batch.candidates.rows, batch.candidates.columns)

    def validate() -> float:
        hidden = module(torch.from_numpy(encode_bag(X, tables["features"].numpy())))
        best = (hidden @ tables["labels"].weights.T).argmax(dim=1).numpy().copy()
        return float(Y[np.arange(300), best].mean())

    def before_epoch(epoch: int) -> None:
        if epoch % 2 == 0:
            sampler.shortlist = np.random.default_rng(
                [epoch, int(1e6 * tables["labels"].weights.abs().sum())]
            ).integers(0, 40, size=(300, 4))

    trainer = Trainer(
        run, batches, objective, Plan(**{"epochs": epochs, "lr": 0.1, **plan}), tables=tables, module=module,  # type: ignore[arg-type]
        validate=validate, before_epoch=before_epoch, kept={"shortlists": Shortlists(sampler)},
    )  # fmt: skip
    return trainer.fit(), tables


def digest(tables: dict[str, Table]) -> str:
    return hashlib.sha256(b"".join(t.numpy().tobytes() for t in tables.values())).hexdigest()


if __name__ == "__main__":
    folder, pause = Path(sys.argv[1]), float(sys.argv[2])
    _, learned = train(Run(seed=5, threads=1, checkpoint=folder, resume=True), pause=pause)
    print(digest(learned))
