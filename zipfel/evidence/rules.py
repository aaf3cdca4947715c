"""All that `auto` does because of the data's shape, in one place: which parts are tried, and settings.

A part is tried if its rule says that it can work, and if its cost fits into what the effort allows. The held-out points
decide whether it stays (`evidence/selection.py`).

Costs are core-seconds, fitted to measurements by `python -m benchmarks.part_costs`, which prints them again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from zipfel.errors import ModelFileError, ParameterError, nearest
from zipfel.evidence.shape import Shape

EFFORTS = ("quick", "default", "thorough")
CORES = 2
"""Cores that costs are measured on."""


@dataclass(frozen=True)
class Rule:
    """part: its name. effort: the least with which it is tried. works: where it can; why: what the limit rests on.
    cost: core-seconds of both fits. after: parts of which it needs one. must_pay: it stays only if it gains
    on held-out points. needs: an extra of zipfel."""

    part: str
    effort: str
    cost: Callable[[Shape], float]
    works: Callable[[Shape], bool] = lambda _: True
    why: str = ""
    after: tuple[str, ...] = ()
    must_pay: bool = True
    needs: str | None = None


REGRESSION_LABELS = 50_000
"""Labels up to which documents have codes by a regression onto the labels; above, its sums take gigabytes, and codes
come from label sets."""
TABLE_ROWS = 100_000
"""Features and labels that a file may declare where, beside a regression, tables of 256 numbers for each are made
(100 MB)."""
NETWORK_ROWS = 10_000
"""The same for the network's tables of 512 numbers (20 MB)."""

RULES: tuple[Rule, ...] = (
    Rule("words", "quick", lambda s: s.n_points * (1e-5 + 4e-7 * s.words) + 3e-4 * s.n_held_out, must_pay=False),
    Rule("classifiers", "quick", lambda s: 3e-7 * s.n_points * s.words * s.labels, must_pay=False),
    Rule("frequency", "quick", lambda _: 0.0, must_pay=False),
    Rule(
        "names",
        "default",
        lambda s: 1e-5 * s.names + 1.2e-6 * s.n_points * s.words,
        lambda s: s.names > 0,
        "texts, and labels whose names may stand in them",
        must_pay=False,
    ),
    Rule(
        "bridge",
        "default",
        lambda s: 1.5e-7 * s.n_points * s.words * s.labels,
        lambda s: not s.dense,
        "sparse features: they are words",
        after=("names",),
    ),
    Rule(
        "embeddings",
        "quick",
        lambda s: 5e-11 * s.n_held_out * s.n_points * s.embedded + 1e-8 * s.n_points * s.embedded,
        lambda s: s.embedded > 0,
        "the user gave embeddings of the documents",
        must_pay=False,
    ),
    Rule(
        "regression",
        "default",
        lambda s: 2.6e-11 * s.n_points * landmarks(s) * (landmarks(s) + 8 * s.words) + 4e-5 * s.n_labels,
        lambda s: s.n_labels <= REGRESSION_LABELS,
        f"up to {REGRESSION_LABELS:,} labels: above, its sums take gigabytes",
    ),
    Rule(
        "forest",
        "default",
        lambda s: 4e-9 * s.n_points**1.5 * (s.words + s.labels),
        lambda s: s.n_points <= 100_000,
        "up to 100,000 points: a document is compared with all of them",
    ),
    Rule(
        "joint",
        "default",
        lambda s: 1.5e-6 * s.n_held_out * s.words,
        lambda s: not s.dense,
        "sparse features: near-duplicates are texts",
    ),
    Rule(
        "network",
        "default",
        lambda s: 0.75 * s.n_points * network_epochs(s) * (1e-5 + 8e-9 * s.n_labels + 2e-7 * s.words),
        lambda s: s.declared <= NETWORK_ROWS,
        f"features and labels together are {NETWORK_ROWS:,} at most",
    ),
    Rule(
        "tree",
        "default",
        lambda s: 1.2e-8 * s.n_points * s.words * s.labels * 2 * math.log2(max(2, s.n_labels)),
        lambda s: not s.dense and s.n_labels <= REGRESSION_LABELS,
        f"sparse features, up to {REGRESSION_LABELS:,} labels",
        after=("regression",),
    ),
    Rule(
        "label_sets",
        "default",
        lambda s: 1.1e-7 * s.n_points * min(10, label_set_epochs(s)) * (s.words + s.labels + 60),
        lambda s: s.n_labels > REGRESSION_LABELS or s.declared <= TABLE_ROWS,
        f"features and labels together are {TABLE_ROWS:,} at most, or there is no regression",
    ),
    Rule("mnn", "thorough", lambda s: 14 + 1.3e-3 * s.n_points, needs="papers"),
    Rule("lightdxml", "thorough", lambda s: 8 + 2e-3 * s.n_points, needs="papers"),
    Rule("glas", "thorough", lambda s: 10 + 2e-3 * s.n_points, needs="papers"),
    Rule("dxml", "thorough", lambda s: 36 + 4e-3 * s.n_points, needs="papers"),
    Rule("rankae", "thorough", lambda s: 20 + 2e-2 * s.n_points, needs="papers"),
)
"""In the order in which parts are tried as long as there is room."""


CORE_USE = 0.8
"""Share of the cores' time that parts which are fitted side by side really use."""
CANDIDATES = ("words", "embeddings", "regression", "label_sets")
"""Parts with neighbours, whose labels become candidates. A model needs one of them."""
BUDGET_SHARE = 0.4
"""The share of the remaining time budget that optional parts may take by estimate."""


def parabel_seconds(s: Shape) -> float:
    """Seconds that Parabel takes for such data on two cores: what the default may take. Fitted to 0.55, 4.1, 2.9, 9.4
    and 23.5 s on bibtex, delicious, debian-tags, debian-deps and eurlex57k, where it is off by a quarter at most."""
    depth = math.log2(max(2, s.n_labels))
    return 0.3 + 5.1e-8 * s.n_points * s.labels * (s.words + 20) * depth


def allowed(s: Shape, effort: str) -> float:
    """Core-seconds that an effort may take. The lower bound is for few points, where every part is cheap."""
    parabel = parabel_seconds(s)
    seconds = {"quick": 0.0, "default": parabel, "thorough": max(120.0, 5 * parabel)}[effort]
    return CORES * CORE_USE * seconds


@dataclass(frozen=True)
class Tried:
    """What became of a part. tried: or why not; gain: share of the mean of P@1, P@3 and P@5 on the held-out points that
    is lost without it, and its standard error; likelihood: the same of a document's log-likelihood; kept: or why
    not."""

    part: str
    tried: bool
    why: str = ""
    cost: float = 0.0
    gain: float | None = None
    error: float | None = None
    likelihood: float | None = None
    likelihood_error: float | None = None
    kept: bool = False


_FIELDS = {field.name for field in fields(Tried)}


def plan(
    shape: Shape,
    effort: str,
    available: Mapping[str, bool],
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    time_left: float = math.inf,
) -> list[Tried]:
    """Which parts are tried. available: by name, whether it can be had here; only, without: names that the user gave;
    time_left: seconds that are left of a time budget."""
    check_names((*only, *without))
    found: list[Tried] = []
    room = min(allowed(shape, effort), CORES * time_left * BUDGET_SHARE)
    for rule in RULES:
        why, cost = "", rule.cost(shape)
        there = {t.part for t in found if t.tried}
        if rule.part in without or (only and rule.part not in only):
            why = "left out by the parameters"
        elif EFFORTS.index(rule.effort) > EFFORTS.index(effort) and rule.part not in only:
            why = f"tried with --preset {rule.effort}"
        elif not available.get(rule.part, True):
            why = f"needs zipfel[{rule.needs}]"
        elif not rule.works(shape):
            why = rule.why
        elif rule.after and not there & set(rule.after):
            why = f"needs {' or '.join(rule.after)}"
        elif rule.must_pay and not only and cost > room:
            why = f"would take {cost:.1f} s, of {max(0.0, room):.1f} s that are left"
        else:
            room -= cost
        found.append(Tried(rule.part, not why, why, cost))
    if not any(tried.tried and tried.part in CANDIDATES for tried in found):
        raise ParameterError(f"no part brings up candidates: keep one of {', '.join(CANDIDATES)}")
    return found


def is_doubted(part: str, s: Shape) -> bool:
    """Whether a part stays only if it gains on held-out points. Names and the user's embeddings take no time from other
    parts. Names stay if there are labels that no point has: held-out points can't show that they are found."""
    return rule_of(part).must_pay or part == "embeddings" or (part == "names" and s.unseen == 0)


def check_names(parts: Sequence[str]) -> None:
    known = [rule.part for rule in RULES]
    for name in parts:
        if name not in known:
            raise ParameterError(f"there is no part {name!r}{nearest(name, known)}")


def plan_from_facts(facts: Any) -> list[Tried]:
    """The counterpart of `dataclasses.asdict`; a model file may come from anywhere."""
    if not isinstance(facts, list) or not all(isinstance(one, dict) and set(one) == _FIELDS for one in facts):
        raise ModelFileError("the plan in the model is damaged")
    found = [Tried(**one) for one in facts]
    names = [tried.part for tried in found]
    if names != [rule.part for rule in RULES if rule.part in names]:
        raise ModelFileError("the plan in the model is damaged: it has unknown parts, or parts in another order")
    return found


def rule_of(part: str) -> Rule:
    return next(rule for rule in RULES if rule.part == part)


def bytes_of_fit(s: Shape, effort: str) -> int:
    """About what `fit` takes besides the data where it takes most: copies of the rows, and for the pairs of documents
    and labels what parts learn from. Beyond `_MANY_PAIRS` the plan has fewer parts. Measured on bibtex, debian-tags,
    debian-deps and a million points, of which the problems of classifiers are made and solved in runs of labels."""
    rows = 8 * (s.words + s.labels + 2) * s.n_points
    pairs = s.labels * s.n_points
    learnt = 5000 * min(pairs, _MANY_PAIRS) + 1000 * max(0, pairs - _MANY_PAIRS)
    if effort != "quick":
        return int(8 * rows + learnt + 6000 * s.n_labels + 10e6)
    listed = 8 * neighbors(s, effort) + 4 * (shortlist(s, effort) + random_negatives(s))
    of_few = 8 * rows + 4700 * s.n_points + 6000 * s.n_labels + 10e6
    of_many = 4 * rows + listed * s.n_points + 200 * pairs + 200 * s.n_labels + 350e6
    return int(min(of_few, of_many))


_MANY_PAIRS = 250_000


# -- settings


SHORT, MIDDLING, DAMPED = 45, 85, 0.6
LONG = 100
"""Words of a document from which on it counts as long."""


def damping(s: Shape) -> float:
    """The power of the feature values: one rare word of a short text outweighs a few others, not fifty. 0.6 up to 45
    words, 1 from 85 on and for dense numbers: of 0.6, 0.8 and 1 the best on held-out points of 12 of 15 data sets."""
    if s.dense or s.words >= LONG:
        return 1.0
    share = (s.words - SHORT) / (MIDDLING - SHORT)
    return round(DAMPED + (1 - DAMPED) * min(1.0, max(0.0, share)), 2)


def classifier_cost(s: Shape) -> float:
    """Weight of the classifiers' loss: labels of short texts are less consistent."""
    return 1.0 if s.dense or s.words >= LONG else 0.3


def neighbors(s: Shape, effort: str) -> int:
    """Training points that vote: the more labels points have, the more neighbours are needed for a stable vote.
    200 instead of 100: 0.15 points of P@1 on delicious, nothing lost on eurlex57k."""
    if effort == "quick":
        return 50
    return 200 if s.labels >= 5 and 8000 <= s.n_points <= 100_000 else 100


def shortlist(s: Shape, effort: str) -> int:
    """Labels on a document's shortlist, which classifiers learn from: at most a third of all labels, as most documents
    would otherwise be negatives of most labels; and at least five times the labels of a point."""
    wanted = 20 if effort == "quick" else 50
    return max(min(wanted, math.ceil(s.n_labels / 3)), math.ceil(5 * s.labels))


def random_negatives(s: Shape) -> int:
    """Random labels of a document that classifiers learn from besides: 100 for each label, but 10 to 50 of a point."""
    return round(min(50, max(10, 100 * s.n_labels / max(1, s.n_points))))


def held_out(n_points: int, share: float | None) -> int:
    """Points held out for the judge: the share that the user sets, or 12 %. If that is fewer than 400 points, up to a
    quarter; 3,000 at most."""
    wanted = share * n_points if share else max(0.12 * n_points, min(400, 0.25 * n_points))
    return max(1, min(3000, round(wanted)))


HELD_OUT_FROM = 20
"""Points from which on some are held out. Of fewer the judge learns from all."""
CROSS_FROM = 30
"""Held-out points from which on judges of the others rank them, see `judge_folds`. Fewer are too few to learn from."""
CHOICE_FROM = 100
"""Held-out points from which on parts are chosen. Of fewer all parts stay: no gain can be shown there."""
PRODUCTS_FROM = CONTEXT_FROM = 200
"""Held-out points from which on the judge has products, and a second blend. Fewer are too few to learn them from."""
BONUS_FROM = 600
"""Held-out points from which on all bonuses for rare labels are tried. Fewer can't show what a high one costs."""


def judge_folds(n_held_out: int) -> int:
    """Parts of the held-out points, each ranked by a judge of the others. Half of few would be too few."""
    return 2 if n_held_out >= 1000 else 3


def landmarks(s: Shape) -> int:
    """Points that the regression compares documents with. 500 to 1,000: one for eight points, as long as the sums over
    all points take few products. If points have many labels: one for 110 (point, label) pairs, within a larger limit of
    products. 2,000 were within 0.1 points on held-out points of delicious, debian-deps and eurlex57k."""
    cheap, affordable = (math.sqrt(products / max(1, s.n_points)) for products in (1.2e10, 1.2e11))
    few = min(cheap, s.n_points / 8)
    return round(min(1000, max(500, few, min(0.009 * s.n_points * s.labels, affordable))))


def label_set_epochs(s: Shape) -> int:
    """Passes over train: 10, more up to 400 steps in all, fewer above 300,000 visits of points."""
    steps = max(1, math.ceil(s.n_points / 128))
    return min(40, math.ceil(400 / steps)) if steps < 40 else max(2, min(10, 300_000 // s.n_points))


def network_epochs(s: Shape) -> int:
    """Passes over train: 8, fewer above 150,000 visits of points."""
    return max(2, min(8, 150_000 // max(1, s.n_points)))
