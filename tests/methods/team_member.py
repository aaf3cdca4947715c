"""One of several processes that train the papers' networks together: saves what they answer.

team_member.py RANK SIZE MEETING-FILE OUT
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tests.contract import QUICK, known
from zipfel.methods import make_method
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.system.threads import set_threads

SHORT: dict[str, dict[str, Any]] = {
    "mnn": {"epochs": 2, "loss": "infonce", "encoders": 2},
    "mnn/paper": {"epochs": 2},
    "glas": {"epochs": 2, "dropout": 0.3},
    "lightdxml": {"epochs": 2, "label_epochs": 1, "relabel_every": 1, "shortlist": 3},
    "astec": {"epochs": 2, "surrogate_epochs": 1, "ranker_epochs": 1},
    "dxml": {"epochs": 2, "networks": 1},
    "dxml/best": {"epochs": 2, "networks": 1, "own_dim": 8, "precision": "float32"},
    "rankae": {"epochs": 2},
    "rankae/best": {"epochs": 2, "word_dim": 16, "dim": 16},
}
"""Enough for every kind of table, loss and module: softmax, margin, pairs, in-batch negatives, batch normalisation,
dropout, momentum."""


def fitted(name: str) -> Ranking:
    """What the method answers after a short fit with seed 1."""
    data = known()
    method_name, _, preset = name.partition("/")
    method = make_method(method_name, {**QUICK[method_name], **SHORT[name]}, preset or None)
    method.fit(data.train, data.valid, Run(seed=1, threads=1))
    return method.predict(data.test.X, 7)


def main(rank: int, size: int, meeting: str, out: str) -> None:
    from torch import distributed

    from zipfel.training.team import TorchTeam, use_team

    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    set_threads(1)
    with use_team(TorchTeam()):
        found = {name: fitted(name) for name in SHORT}
    distributed.destroy_process_group()
    arrays = {f"{name}:labels": ranking.labels for name, ranking in found.items()}
    np.savez(out, **arrays, **{f"{name}:scores": ranking.scores for name, ranking in found.items()})


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
