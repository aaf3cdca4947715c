"""GLaS's parameters, and named sets of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfel import config as declared
from zipfel.config import param, part
from zipfel.methods.by_words import SparseConfig
from zipfel.quantize import PRECISIONS
from zipfel.regularizers.affinity import AFFINITIES

_ALONE = {"votes": False, "sparse": False}
"""Nothing beyond the paper is asked."""
_EPOCHS, _STEPS = 6, 200
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "alone": {**_ALONE, "networks": 2},
    "paper": {"dim": 1024, "batch": 4096, "positives": "one", "loss": "margin", "start": "random", **_ALONE},
    "amazoncat-13k": {"dim": 1024, "batch": 4096, "loss": "margin", "positives": "one", **_ALONE},
    "amazon-670k": {"dim": 512, "batch": 1024, "loss": "mining", "positives": "one", **_ALONE},
    "wikilshtc-325k": {"dim": 512, "batch": 1024, "loss": "mining", "positives": "one", **_ALONE},
    "delicious-200k": {"dim": 512, "batch": 1024, "loss": "softmax", **_ALONE},
    "eurlex-4k": {"dim": 512, "sampled": None, **_ALONE},
    "wikipedia-500k": {"dim": 512, "batch": 1024, "loss": "mining", "positives": "one", **_ALONE},
}


@dataclass(frozen=True)
class GlasConfig(declared.Config):
    """Defaults cite Table 1 of the paper where they are its own."""

    dim: int = param(256, "numbers in a code (Table 1: 256-1024)", symbol="d", low=1)
    networks: int = param(1, "trained side by side, their scores averaged; the paper has one", low=1, high=16)
    activation: str = param("relu", "of the embedding map (Table 1)", choices=("relu", "linear"))
    loss: str = param("softmax", "over sampled candidates", choices=("softmax", "margin", "mining"))
    positives: str = param("all", "labels of a row that count in a step (Alg. 2: one)", choices=("all", "one"))
    sampled: int | None = param(1500, "labels drawn for a batch beside its own; none: all labels", low=0)
    margin: float = param(1.0, "by which a relevant label must lead", symbol="c", low=0)
    hardest: int = param(20, "negatives that mining keeps", low=1)
    regularizer: str = param("glas", "of the label vectors", choices=("glas", "spread_out", "gravity", "none"))
    weight: float = param(10.0, "of the regulariser (Table 1)", symbol="lambda", low=0)
    affinity: str = param("arithmetic", "what GLaS holds the Gram matrix to (Sec. 3.2)", choices=AFFINITIES)
    keep: float = param(0.6, "share of a row's features that dropout keeps (Table 1)", symbol="rho", low=0.01, high=1)
    dropout: float = param(0.4, "of the code's numbers, before it is normalised", low=0, high=0.95)
    tokens: str = param(
        "corpus", "first feature vectors (corpus: of the rows of X by LSA)", choices=("corpus", "random")
    )
    start: str = param("centroid", "first label vectors", choices=("centroid", "random"))
    length: float = param(20.0, "g at the start of training", symbol="g", low=0.01)
    rarity: float = param(0.1, "r of -r log(N_l / N), added to the score of label l", symbol="r", low=0, high=2)
    epochs: int | None = param(
        None, "passes over train at most (Sec. 4); none: 6, or 3 to 6 for 200 steps where words are asked too", low=1
    )
    batch: int = param(512, "rows a step (Table 1: 1024-4096)", symbol="B", low=1)
    lr: float = param(3e-3, "Adam's rate at the start, falling linearly to 0", symbol="eta", low=1e-6)
    patience: int | None = param(None, "epochs without a better validation P@1 before training stops", low=1)
    valid_share: float = param(0.04, "share of train to hold out where no validation set is given", low=0.001, high=0.5)
    votes: bool = param(True, "the training points nearest by words vote, beyond the paper")
    sparse: bool = param(True, "sparse classifiers are asked too, beyond the paper")
    neighbors: int = param(80, "training points that vote", low=1)
    candidates: int = param(100, "labels of a point that votes and sparse classifiers are asked about", low=1)
    tail: float | None = param(
        None,
        "bonus of rare labels beside votes and sparse classifiers; none: what costs 0.5 points of precision",
        low=0,
    )
    precision: str = param("int8", "how the vectors are kept", choices=PRECISIONS)
    ranker: SparseConfig = part(SparseConfig)  # noqa: RUF009 - a frozen config; of the sparse classifiers

    def epochs_for(self, n_batches: int) -> int:
        """What the words know, the network need not learn to the last."""
        if self.epochs is not None:
            return self.epochs
        alone = not (self.votes or self.sparse)
        return _EPOCHS if alone else int(np.clip(round(_STEPS / max(1, n_batches)), 3, _EPOCHS))
