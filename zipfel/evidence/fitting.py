"""Parts are fitted side by side, each after those that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from zipfel.evidence import rules
from zipfel.evidence.part import Fold, Part
from zipfel.evidence.rules import Tried
from zipfel.system.threads import at_once


def fit_parts(
    plan: Sequence[Tried], classes: Mapping[str, type[Part]], config: Any, fold: Fold, before: dict[str, Part]
) -> dict[str, Part]:
    """The parts that are tried, or of a final fit kept, in the order of the plan. classes: the parts' classes by name.
    config: has each part's configuration under its name. before: parts that were fitted on fewer points; each is
    removed when its successor is fitted."""
    names = [tried.part for tried in plan if (tried.kept if fold.is_final else tried.tried)]
    costs = {tried.part: tried.cost for tried in plan}
    works = []
    for chain in sorted(_chains(names), key=lambda chain: -sum(costs[name] for name in chain)):  # the longest first
        own = {name: before.pop(name) for name in chain if name in before}
        works.append(partial(_fit_chain, chain, classes, config, fold, own))
    found: dict[str, Part] = {}
    for fitted in at_once(*works, sharing=True):
        found |= fitted
    return {name: found[name] for name in names if name in found}


def _chains(names: Sequence[str]) -> list[list[str]]:
    """Parts in chains: each part stands in the chain of one that it needs, behind it."""
    chains: list[list[str]] = []
    for name in names:
        needed = [chain for chain in chains if set(chain) & set(rules.rule_of(name).after)]
        if needed:
            needed[0].append(name)
        else:
            chains.append([name])
    return chains


def _fit_chain(
    names: Sequence[str], classes: Mapping[str, type[Part]], config: Any, fold: Fold, before: dict[str, Part]
) -> Mapping[str, Part]:
    found: dict[str, Part] = {}
    for name in names:
        with fold.run.timed(name):
            own = getattr(config, name, None)
            part = classes[name].fit(own, replace(fold, made=found), before.pop(name, None))
        if part is not None:
            found[name] = part
    return found
