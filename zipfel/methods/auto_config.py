"""auto's parameters, and its presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zipfel import config as declared
from zipfel.config import param, part
from zipfel.evidence.conjunctions import ConjunctionConfig
from zipfel.evidence.drift import DriftConfig
from zipfel.linear import LinearConfig
from zipfel.linear.tree import TreeConfig
from zipfel.neighbors.forest import ForestConfig
from zipfel.neighbors.joint import JointConfig
from zipfel.neighbors.label_set_training import PairingConfig
from zipfel.neighbors.label_sets import MatcherConfig
from zipfel.neighbors.regression import RegressionConfig
from zipfel.nn.network import NetworkConfig

_LEFT_OUT = ("codes", "forest", "conjunctions", "drift", "neighbourhood", "network", "trials")
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "quick": {**dict.fromkeys(_LEFT_OUT, False), "neighbors": 50, "shortlist": 20}
}


@dataclass(frozen=True)
class AutoConfig(declared.Config):
    neighbors: int | None = param(
        None,
        "training points that vote, of each kind; none: 100, where points are many and have five labels or more 200",
        symbol="m",
        low=1,
    )
    strangers: int | None = param(
        None, "random labels of a document that classifiers learn from besides; none: 10 to 100, see docs", low=0
    )
    centring: bool = param(True, "dense features are seen from their means")
    trials: bool = param(
        True, "the classifiers' cost for short documents without a network is tried on a part of the labels; else 0.3"
    )
    damping: float | None = param(
        None,
        "power of the feature values; none: 0.6 up to 45 words on average, 1 from 85 on and for dense numbers",
        low=0.1,
        high=2,
    )
    shortlist: int = param(
        50,
        "labels of a document that classifiers learn from; at least five times as many as points have, see docs",
        low=1,
    )
    candidates: int = param(100, "labels of a document that are scored", low=1)
    votes: bool = param(True, "votes count in the score, not only for the shortlist")
    codes: bool = param(
        True, "an encoder is trained; neighbours by its codes vote too, and what it thinks of a label counts"
    )
    classifiers: bool = param(True, "sparse classifiers score the shortlist")
    tree: bool = param(
        True, "a label tree's classifiers have a say; where codes are a regression's, and features many, see docs"
    )
    pairs: bool = param(
        True,
        "documents and label sets in one space have a say; where codes are a regression's, and features few, see docs",
    )
    forest: bool = param(
        True, "points in the same leaves of a forest have a say; where they are not too many, nor too long, see docs"
    )
    conjunctions: bool = param(
        True, "classifiers of words and pairs of words have a say; where documents are many, and long, see docs"
    )
    drift: bool = param(
        True, "classifiers change along the file; where documents are many, and long, and words tell their place in it"
    )
    neighbourhood: bool = param(
        True, "near training points that are alike share a voice; where documents are long, see docs"
    )
    products: bool = param(True, "two kinds of evidence together have a say of their own, beside the blend's")
    network: bool = param(
        True, "a small network has a say; where points are many, and features and labels are not, see docs"
    )
    prior: bool = param(True, "the label's frequency counts")
    context: bool = param(True, "what other likely labels say of a label counts, where that pays on held-out points")
    tail: float | None = param(
        None, "t, bonus of rare labels; none: the most that costs 0.1 points of precision, to 0.4", symbol="t", low=0
    )
    valid_share: float | None = param(
        None,
        "share of train to learn the blend on where no validation set is given; none: 0.12, of few points up to 0.25",
        low=0.01,
        high=0.5,
    )
    matcher: MatcherConfig = part(MatcherConfig)  # noqa: RUF009 - a frozen config
    regression: RegressionConfig = part(RegressionConfig)  # noqa: RUF009 - a frozen config
    pairing: PairingConfig = part(PairingConfig)  # noqa: RUF009 - a frozen config
    woods: ForestConfig = part(ForestConfig)  # noqa: RUF009 - a frozen config
    conjoining: ConjunctionConfig = part(ConjunctionConfig)  # noqa: RUF009 - a frozen config
    drifting: DriftConfig = part(DriftConfig)  # noqa: RUF009 - a frozen config
    surroundings: JointConfig = part(JointConfig)  # noqa: RUF009 - a frozen config
    networking: NetworkConfig = part(NetworkConfig)  # noqa: RUF009 - a frozen config
    branching: TreeConfig = part(TreeConfig)  # noqa: RUF009 - a frozen config
    ranker: LinearConfig = part(LinearConfig)  # noqa: RUF009 - a frozen config
