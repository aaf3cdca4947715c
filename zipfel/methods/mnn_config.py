"""MNN's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zipfel import config as declared
from zipfel.config import param
from zipfel.nn.quantize import PRECISIONS

SOURCES = ("labels", "sets", "points")
SETTINGS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "infonce": ({"temperature": 0.05, "keep": 0.7}, {"temperature": 0.15, "keep": 0.7}),
    "contrastive": ({"negatives": 10, "keep": 0.6}, {"negatives": 25, "keep": 0.8}),
}
"""What is tried for each loss where nothing is set."""


@dataclass(frozen=True)
class MnnConfig(declared.Config):
    """The paper gives no values for any of these; the defaults are from docs/methods/mnn.md's tables."""

    dim: int = param(150, "numbers in a code, of each encoder", low=1)
    encoders: int = param(6, "pairs of encoders side by side; the paper has one", low=1, high=16)
    loss: str = param("infonce", "the paper's is contrastive", choices=("infonce", "contrastive"))
    temperature: float | None = param(None, "of InfoNCE; none: 0.05 or 0.15, by held-out points", low=1e-3)
    negatives: int | None = param(
        None, "label sets sampled for each row, of which the hardest counts; none: 10 or 25", symbol="h", low=1
    )
    margin: float = param(0.1, "cosine below which a negative costs nothing", symbol="m", low=0, high=1)
    exclude: str = param("identical", "label sets that are no negatives", choices=("identical", "overlapping"))
    keep: float | None = param(
        None,
        "share of a row's features that dropout keeps; none: 0.7; 0.6 with h 10, 0.8 with h 25",
        symbol="p",
        low=0.01,
        high=1,
    )
    epochs: int | None = param(None, "passes over train; none: 8, or what makes 300 steps, to 25", low=1)
    batch: int | None = param(None, "rows a step; none: 256, from 20,000 rows on 512", low=1)
    lr: float = param(5e-3, "Adam's rate at the start, falling linearly to 0", low=1e-6)
    ranking: str = param("blend", "whose votes count", choices=("blend", *SOURCES))
    n_neighbors: int | None = param(None, "voters of a source; none: by held-out points", low=1)
    sharpness: float | None = param(None, "t of the votes exp(t (cos - best)); none: by held-out points", low=0)
    rarity: float | None = param(
        None,
        "r of the votes' weights (1 + N_l)^-r; none: the most that costs 0.05 points of precision",
        symbol="r",
        low=0,
    )
    tail: bool | None = param(
        None,
        "rare labels have a bonus, and labels' words a say beside the votes; none: where labels are 1,000 or more, and "
        "more than half of them have five points or fewer",
    )
    bonus: float | None = param(
        None, "t of that bonus, t log(1/p); none: the best product of P and PSP on held-out points", symbol="t", low=0
    )
    valid_share: float = param(0.2, "share of train to hold out where no validation set is given", low=0.01, high=0.5)
    precision: str = param("int8", "how vectors and codes are kept", choices=PRECISIONS)
