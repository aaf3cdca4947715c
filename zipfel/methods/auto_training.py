"""Auto's parts, trained side by side: encoder and label tree, classifiers of words and of words together, a forest,
pairs, a network; each where the data has room for it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from zipfel.evidence.setting import are_long
from zipfel.linear import LinearClassifiers
from zipfel.methods.auto_config import AutoConfig
from zipfel.methods.auto_further import Further
from zipfel.methods.auto_parts import Fitting, n_shortlisted, n_strangers
from zipfel.neighbors.joint import JointNeighbors
from zipfel.neighbors.space import AnyEncoder, Space
from zipfel.neighbors.words import WordIndex
from zipfel.threads import at_once

Array = npt.NDArray[Any]


class Parts(NamedTuple):
    """spaces: of an encoder's codes, and of pairs'; ranker: None without classifiers."""

    spaces: list[Space]
    ranker: LinearClassifiers | None
    further: Further


def train_parts(
    c: AutoConfig, fitting: Fitting, memory: WordIndex, seen: Array, cost: float | None, tried: tuple[float, float]
) -> Parts:
    """On the points that are `seen`, a mask (n,); what was learnt on fewer points goes on from there. cost: of the
    classifiers; none: the first that is tried, unless the second wins on the points that are not seen (beside a
    network, which knows more, none is tried)."""
    points, run = fitting.points, fitting.run
    voters = seen & (np.diff(points.Y.indptr) > 0)
    few, codes = fitting.has_few_labels(c.regression), c.codes and fitting.has_time
    networked = c.network and fitting.has_time and fitting.has_room_for_network()
    spaces: list[Space] = []
    grown: dict[str, Any] = {}

    def encoded(found: AnyEncoder) -> None:
        spaces.append(Space.build(found, fitting.codes(found), points.Y, voters, exact=not seen.all()))

    def encoder() -> None:
        with run.timed("encoder"):
            encoded(fitting.train_regression(c.regression, seen) if few else fitting.train_matcher(c.matcher, seen))
        if c.tree and few and fitting.has_room_for_tree():
            with run.timed("tree"):
                grown["tree"] = fitting.train_tree(c.branching, c.ranker, spaces[0].memory.points, seen)

    def pairing() -> None:
        with run.timed("pairing"):
            grown["pairs"] = fitting.train_pairing(c.pairing, seen)

    def network() -> None:
        with run.timed("rehearsal" if fitting.rehearses else "network"):
            grown["network"] = fitting.train_network(c.networking, seen)

    def classifiers() -> None:
        with run.timed("classifiers"):
            strangers = n_strangers(c.strangers, points.Y, fitting.most_strangers())
            problems = fitting.problems(seen, n_shortlisted(c.shortlist, points.Y, networked=networked), strangers)
            found = cost or (tried[0] if networked else fitting.choose_cost(c.ranker, tried, problems, seen))
            grown["ranker"] = LinearClassifiers(c.ranker.replace(damping=1.0, cost=found))
            fitting.train_classifiers(grown["ranker"], problems, seen)
        if c.conjunctions and fitting.has_time and fitting.has_room_for_conjunctions():
            with run.timed("conjunctions"):
                grown["conjunctions"] = fitting.train_conjunctions(c.conjoining, grown["ranker"].config, seen)

    def forest() -> None:
        with run.timed("forest"):
            grown["forest"] = fitting.train_forest(c.woods, memory, seen)

    works = [
        *[pairing] * (c.pairs and codes and few and fitting.has_room_for_pairs()),
        *[network] * networked,
        *[classifiers] * c.classifiers,
        *[encoder] * codes,
        *[forest] * (c.forest and fitting.has_time and fitting.has_forest),
    ]
    at_once(*works, sharing=few)
    if "pairs" in grown:
        with run.timed("pairing"):
            encoded(grown.pop("pairs"))
    if c.neighbourhood and fitting.has_time and are_long(points.X):
        grown["neighbourhood"] = JointNeighbors.of(c.surroundings)
    return Parts(spaces, grown.pop("ranker", None), Further(**grown))
