"""LightDXML's parameters: declared, sized by the data, and named sets of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfel import config as declared
from zipfel.config import param, part
from zipfel.methods.base import Points
from zipfel.methods.by_words import SparseConfig
from zipfel.quantize import PRECISIONS

_FURTHER_BELOW = 200_000
"""Points up to which votes and sparse classifiers are asked by default."""
_MANY = 10_000
"""Labels from which on a small network does, beside votes and sparse classifiers."""
_LARGE, _FEW_EPOCHS = 20_000, 3
"""Points from which on few epochs do, beside votes and sparse classifiers."""


@dataclass(frozen=True)
class LightDXMLConfig(declared.Config):
    """None means: sized by the data, see `sized`."""

    dim: int | None = param(None, "dimension of tokens, points and labels", symbol="D", low=2)
    epochs: int | None = param(None, "epochs of the classifier (Table V: 16-21)", symbol="e_model", low=1)
    batch: int | None = param(None, "points a step", low=1)
    networks: int | None = param(None, "networks that are averaged", low=1)
    lr: float | None = param(None, "peak learning rate (Table V: 0.006-0.009)", low=0)
    label_epochs: int = param(1, "epochs of the label encoder in each cycle (Table V: 4-8)", symbol="e_label", low=0)
    relabel_every: int | None = param(None, "epochs between cycles (Table V: 4-9)", symbol="^e_label", low=1)
    shortlist: int | None = param(None, "labels shortlisted a point (Table V: 500-650)", symbol="k", low=1)
    n_hard: int = param(1, "labels of its shortlist that a point brings to a batch", low=0)
    n_sampled: int = param(1000, "labels drawn at random for a batch", low=0)
    correction: float = param(0.0, "power of the importance correction of drawn negatives", low=0, high=1)
    n_head: int = param(500, "most frequent labels, which are in every shortlist", low=0)
    score_all: int = param(30_000, "labels up to which prediction scores all of them instead of a shortlist", low=0)
    start: float | None = param(None, "length of a classifier at its start, along its label's centroid", low=0)
    keep: float | None = param(None, "share of a point's tokens kept in training", low=0.01, high=1)
    dropout: float | None = param(None, "dropout in the residual block", low=0, high=0.95)
    beta: float | None = param(
        None, "weight of the classifier in the paper's fusion; None: chosen on validation", symbol="beta", low=0, high=1
    )
    votes: bool | None = param(None, "the nearest training points vote, beyond the paper; None: see `sized`")
    sparse: bool | None = param(None, "sparse classifiers are asked too, beyond the paper; None: see `sized`")
    neighbors: int = param(80, "training points that vote", low=1)
    candidates: int = param(100, "labels of a point, by the network, that the others are asked about", low=1)
    tail: float | None = param(
        None,
        "bonus of rare labels beside votes and sparse classifiers; None: what costs at most 0.1 points of P",
        low=0,
    )
    relu: bool = param(False, "a space without negative numbers, as in the paper")
    tokens: str = param("corpus", "first token embeddings", choices=("random", "corpus", "file"))
    vectors: str | None = param(None, "a .vec file of word vectors, for tokens=file")
    index: str = param("auto", "how labels are searched", choices=("auto", "exact", "hnsw", "ivfpq"))
    precision: str = param("int8", "how the tables are saved", choices=PRECISIONS)
    patience: int | None = param(None, "epochs without a better validation P@1 after which training stops", low=1)
    valid_share: float = param(0.05, "share of train held out where no validation data are given", low=0.01, high=0.5)
    ranker: SparseConfig = part(SparseConfig)  # noqa: RUF009 - a frozen config; of the sparse classifiers


def _table_v(beta: float, k: int, lr: float, epochs: int, label_epochs: int, every: int) -> dict[str, Any]:
    names = ("beta", "shortlist", "lr", "epochs", "label_epochs", "relabel_every")
    found = dict(zip(names, (beta, k, lr, epochs, label_epochs, every), strict=True))
    return {**found, "votes": False, "sparse": False}


def sized(config: LightDXMLConfig, train: Points) -> LightDXMLConfig:
    """The config with every None filled by the size of the data; beta stays for validation to choose.

    Who sets beta wants the paper's fusion; and where train is large, the points and the sparse classifiers would take
    more room than all the rest.
    """
    n_seen = len(np.unique(train.Y.indices))
    few = n_seen < 3000  # all are candidates of every batch
    further = config.beta is None and train.n_points <= _FURTHER_BELOW
    votes, sparse = (further if given is None else given for given in (config.votes, config.sparse))
    alone = not (votes or sparse)  # the network has to know all by itself
    small = not alone and n_seen >= _MANY  # with so many labels the words know more than any network in that time
    batch = 128 if train.n_points < 8000 else 256 if few or small else 512
    steps = 800 if few else 400 if small else 450
    most = _FEW_EPOCHS if not alone and train.n_points >= _LARGE else 25
    epochs = int(np.clip(round(steps * batch / max(1, train.n_points)), _FEW_EPOCHS, most))
    chosen = {
        "dim": 512 if few else 128 if small or n_seen >= 200_000 else 192 if alone else 256,
        "batch": batch,
        "epochs": epochs,
        "networks": 3 if few and alone else 1,
        "lr": 3e-3 if few else 5e-3,
        "relabel_every": max(1, -(-epochs // 2)),
        "shortlist": int(np.clip(round(40 * np.log(max(2, n_seen))), 100, 700)),
        "start": 2.0 if few else 4.0,
        "keep": 0.7 if few else 0.75,
        "dropout": 0.5 if few else 0.25,
        "votes": votes,
        "sparse": sparse,
    }
    return config.replace(**{name: value for name, value in chosen.items() if getattr(config, name) is None})


PRESETS: dict[str, dict[str, Any]] = {
    "sized": {},
    "small": {"dim": 512, "batch": 256, "epochs": 15, "relabel_every": 8, "shortlist": 500, "dropout": 0.5},
    "large": {"dim": 256, "batch": 512, "epochs": 10, "relabel_every": 5, "shortlist": 500},
    "titles": {"dim": 256, "batch": 512, "epochs": 15, "relabel_every": 8, "shortlist": 500, "keep": 1.0},
    # Table V: beta, k, learning rate, e_model, e_label, ^e_label
    "eurlex-4k": _table_v(0.75, 500, 0.006, 16, 8, 8),
    "amazoncat-13k": _table_v(1.0, 500, 0.007, 21, 4, 4),
    "wiki10-31k": _table_v(0.60, 600, 0.009, 21, 8, 6),
    "wikiseealsotitles-320k": _table_v(0.1, 500, 0.008, 21, 6, 7),
    "amazontitles-670k": _table_v(1.0, 650, 0.007, 21, 6, 9),
}
