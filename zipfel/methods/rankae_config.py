"""Rank-AE's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zipfel import config as declared
from zipfel.config import param


@dataclass(frozen=True)
class RankAeConfig(declared.Config):
    """Defaults named "paper" are of section 3.1; the others are from docs/methods/rankae.md's tables."""

    word_dim: int = param(200, "channels of a word vector; the paper has 100", symbol="C", low=1)
    dim: int = param(300, "numbers in a code; the paper has 100, or 200 for many labels", symbol="h", low=1)
    hidden: int = param(256, "width of the inner layers of encoder and decoder", low=1)
    networks: int | None = param(None, "networks; the paper has one; none: 2, or 40,000 points in all", low=1, high=16)
    attention: str = param("dual", "spatial: without the channels' part (Figure 4)", choices=("dual", "spatial"))
    reduction: int = param(4, "how much narrower the channels' attention is, as in the paper", symbol="r", low=1)
    pooling: str = param("sum", "of a document's words; the paper's is mean", choices=("sum", "mean"))
    words: str = param("", "a .vec file of word vectors to start from; empty: random ones")
    loss: str = param("bce", "L_ae; the paper's is ranking", choices=("bce", "ranking"))
    hardest: bool = param(True, "the ranking loss takes the hardest pairs, as in the paper; else the mean over pairs")
    bounded: bool = param(True, "scores of the ranking loss go through a sigmoid, as in the paper")
    margin: float = param(0.1, "between a positive's score and a negative's", symbol="m", low=0)
    common: str = param("infonce", "L_h; the paper's is mse", choices=("infonce", "mse"))
    temperature: float = param(0.05, "of InfoNCE", low=1e-3)
    balance: float = param(0.1, "weight of L_ae against L_h", symbol="lambda", low=0)
    decode_features: float = param(1.0, "weight of decoding documents' codes, within L_ae; the paper has none", low=0)
    sampled: int = param(1000, "labels drawn for a batch where there are more than `all_below`", low=1)
    all_below: int = param(3000, "labels up to which all are scored in every batch", low=0)
    readout: str = param("auto", "what ranks; the paper's is decoder", choices=("auto", "decoder", "neighbours"))
    by_words: bool = param(True, "training points with the same words may vote, too; the paper has no votes")
    keep: float = param(0.65, "share of a row's features that input dropout keeps", low=0.01, high=1)
    epochs: int | None = param(None, "passes over train; none: what makes 800 steps, from 8 to 30", low=1)
    batch: int = param(256, "rows a step", low=1)
    lr: float = param(3e-3, "Adam's rate at the start, falling linearly to 0", low=1e-6)
    n_neighbors: int | None = param(None, "voters; none: by held-out points", low=1)
    sharpness: float | None = param(None, "t of the votes exp(t (cos - best)); none: by held-out points", low=0)
    refit: bool = param(True, "train again on all points after the choices; else the choices' one network stays")
    valid_share: float | None = param(
        None, "share of train to hold out; none: 1,000 points, 10 to 25 %", low=0.01, high=0.5
    )


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {
        "loss": "ranking", "common": "mse", "decode_features": 0.0, "readout": "decoder", "dim": 100,
        "word_dim": 100, "pooling": "mean", "lr": 3e-4, "balance": 0.01, "networks": 1,
    },
    "delicious": {}, "mediamill": {}, "imdb": {},
    "rcv": {"batch": 1024, "epochs": 5},
    "eurlex": {"attention": "spatial", "word_dim": 400, "dim": 400, "batch": 512, "epochs": 12, "networks": 2},
    "wiki10": {"sampled": 2000},
}  # fmt: skip
"""The paper's own, and one for each of its data sets."""
