"""auto's parameters, its presets, and removed parameters with what to use instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from zipfel import config as declared
from zipfel.config import param, part
from zipfel.evidence.parts.classifiers import ClassifiersConfig
from zipfel.evidence.parts.names import NamesConfig
from zipfel.evidence.rules import EFFORTS, check_names
from zipfel.linear.tree import TreeConfig
from zipfel.neighbors.forest import ForestConfig
from zipfel.neighbors.joint import JointConfig
from zipfel.neighbors.label_set_training import LabelSetsConfig
from zipfel.neighbors.regression import RegressionConfig
from zipfel.nn.network import NetworkConfig

PRESETS: Mapping[str, Mapping[str, Any]] = {"quick": {"effort": "quick"}, "thorough": {"effort": "thorough"}}


def _left_out(name: str) -> str:
    return f"leave the part out by without={name}"


def _names(words: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in words.split(",") if name.strip())


@dataclass(frozen=True)
class AutoConfig(declared.Config):
    effort: str = param(
        "default",
        "quick: neighbours and classifiers; default: parts that fit into Parabel's time; thorough: five times that",
        choices=EFFORTS,
    )
    only: str = param("", "parts to try, separated by commas; empty: those that the effort allows")
    without: str = param("", "parts to leave out, separated by commas, e.g. without=tree,forest")
    keep_all: bool = param(False, "keep all parts, even if held-out documents are ranked as well without them")
    neighbors: int | None = param(
        None, "training documents that vote, of each kind; none: 50 to 200, see the table of rules", symbol="m", low=1
    )
    candidates: int = param(100, "labels of a document that are scored", low=1)
    centring: bool = param(True, "subtract the means of dense features")
    damping: float | None = param(
        None,
        "power of the feature values; none: 0.6 up to 45 words on average, 1 from 85 on and for dense numbers",
        low=0.1,
        high=2,
    )
    context: bool = param(True, "use other likely labels as evidence, if held-out documents are ranked better")
    products: bool = param(True, "use products of two kinds of evidence")
    tail: float | None = param(
        None,
        "t, bonus of rare labels; none: the largest up to 0.4 that costs 0.1 points of precision",
        symbol="t",
        low=0,
    )
    valid_share: float | None = param(
        None,
        "share of the training set for the judge, without a validation set; none: 0.12, of few documents up to 0.25",
        low=0.01,
        high=0.5,
    )
    classifiers: ClassifiersConfig = part(ClassifiersConfig)  # noqa: RUF009 - a frozen config
    regression: RegressionConfig = part(RegressionConfig)  # noqa: RUF009 - a frozen config
    tree: TreeConfig = part(TreeConfig)  # noqa: RUF009 - a frozen config
    label_sets: LabelSetsConfig = part(LabelSetsConfig)  # noqa: RUF009 - a frozen config
    forest: ForestConfig = part(ForestConfig)  # noqa: RUF009 - a frozen config
    joint: JointConfig = part(JointConfig)  # noqa: RUF009 - a frozen config
    names: NamesConfig = part(NamesConfig)  # noqa: RUF009 - a frozen config
    network: NetworkConfig = part(NetworkConfig)  # noqa: RUF009 - a frozen config

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names((*self.chosen, *self.left_out))

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names in `only`."""
        return _names(self.only)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names in `without`."""
        return _names(self.without)

    removed: ClassVar[Mapping[str, str]] = {
        **{name: _left_out(name) for name in ("classifiers", "tree", "forest", "network")},
        "votes": _left_out("words"),
        "codes": _left_out("regression,label_sets"),
        "pairs": _left_out("label_sets"),
        "neighbourhood": _left_out("joint"),
        "prior": _left_out("frequency"),
        "trials": "the classifiers' cost follows from the length of documents; set classifiers.cost",
        "shortlist": "set classifiers.shortlist",
        "strangers": "set classifiers.random_negatives",
        "conjunctions": "pairs of words paid on one data set of five and were removed",
        "conjoining": "pairs of words paid on one data set of five and were removed",
        "drift": "it depended on the order of the file and was removed",
        "drifting": "it depended on the order of the file and was removed",
        "matcher": "set label_sets.NAME",
        "pairing": "set label_sets.NAME",
        "woods": "set forest.NAME",
        "surroundings": "set joint.NAME",
        "networking": "set network.NAME",
        "branching": "set tree.NAME",
        "ranker": "set classifiers.NAME",
        "regression.most_labels": _left_out("regression"),
    }
