"""`zipfel fit --max-memory`: estimates what a fit takes, chooses a plan that fits, and keeps to it.

Plans, from the fullest on; each is tried on samples (see `trial`) until one fits:

    1. as asked
    2. auto's preset `quick`: words and classifiers, no codes, forest or network
    3. texts: only the `MOST_WORDS` weightiest words of each are learnt from
    4. so many documents as fit: one of each label, the others at random

A plan whose estimate is near the limit is tried with all of its documents first, in another process. Both processes
together keep to the limit. While the plan is carried out, memory is watched. Where it reaches the limit nevertheless,
the fit is halted and begins again with fewer documents.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ResourceError
from zipfel.kernels.loading import load_kernels
from zipfel.scale.resident import held_memory, watched
from zipfel.scale.trial import Growth, measured_growth, picked, run_trial
from zipfel.system.interrupts import Halted, check_halted
from zipfel.system.memory import give_back

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel
    from zipfel.data import Dataset
    from zipfel.run import Run

MOST_WORDS = 64
_SURE, _ROOM, _NEAR = 0.7, 0.85, 1.2
"""Shares of the limit: an estimate from samples up to `_SURE` is enough; above it, up to `_NEAR`, all documents are
tried, and may take `_ROOM`. Estimates are within a quarter, mostly within a tenth."""
_TIGHT = 4
"""Times what is held before the fit: below, it is asked first whether the least fit has room."""
_FEWER, _TRIES = 0.7, 6
"""Documents of the next try where a fit came to the limit, and how many tries there are."""
_NO_LIMIT, _BLOCK = 1 << 60, 100_000
_FEWEST = 100
"""Documents below which there is no use in fitting."""


@dataclass(frozen=True)
class Plan:
    """changes: parameters that differ from what was asked. n_documents: of train. estimate: bytes."""

    changes: dict[str, Any]
    n_documents: int
    estimate: float

    def sentence(self, n_points: int, limit: int) -> str:
        """For the user."""
        changed = [f"{name} {_shown(value)}" for name, value in self.changes.items()]
        if self.n_documents < n_points:
            changed.append(f"{self.n_documents:,} of {n_points:,} documents")
        what = "as asked" if not changed else "with " + ", ".join(changed)
        return f"memory: about {self.estimate / 1e9:.2f} GB of the {limit / 1e9:.2f} GB allowed, fitting {what}"


def fit_within(model: Zipfel, train: Dataset, limit: int, run: Run, **given: Any) -> Plan:
    """`model.fit(train, run=run, **given)` within `limit` bytes; the parameters of the plan stay set in the model.

    Returns the plan that was carried out; `model.training_["memory"]` has it, too, with the peak that was measured.
    """
    plan = chosen_plan(model, train, limit, run)
    load_kernels()
    run.progress.remark(plan.sentence(train.n_points, limit))
    model.set_params(**plan.changes)
    peak = 0
    for attempt in range(_TRIES):
        part = train if plan.n_documents == train.n_points else picked(train, chosen_documents(train, plan, run))
        with watched(limit) as watch:
            try:
                model.fit(part, run=run, **given)
            except Halted:
                if not watch.is_over:
                    raise
            else:
                _note(model, plan, limit, max(peak, watch.peak), train.n_points)
                return plan
        peak = max(peak, watch.peak)
        gc.collect()
        give_back()
        check_halted()
        plan = replace(plan, n_documents=int(_FEWER * plan.n_documents), estimate=_FEWER * plan.estimate)
        if attempt + 1 < _TRIES and plan.n_documents >= _FEWEST:
            run.progress.remark(f"the limit was reached; begins again {plan.sentence(train.n_points, limit)}")
        else:
            break
    raise ResourceError(_too_little(limit, max(least_memory(model, train, run), limit / _ROOM)))


def chosen_plan(model: Zipfel, train: Dataset, limit: int, run: Run) -> Plan:
    """The fullest plan whose estimate fits."""
    held = held_memory()
    if limit < _TIGHT * held and (least := least_memory(model, train, run)) > limit:
        raise ResourceError(_too_little(limit, least))
    changes: dict[str, Any] = {}
    for changes in _ladder(model, train):
        changed = _changed(model, changes)
        growth = measured_growth(changed, train, run, held, _limit_of_trials(limit))
        needed = growth.at(train.n_points)
        if needed <= _SURE * limit:
            return Plan(changes, train.n_points, needed)
        if needed <= _NEAR * limit and (tried := _tried(changed, train, limit, run)) is not None:
            needed = tried
            if needed <= _ROOM * limit:
                return Plan(changes, train.n_points, needed)
        told = Plan(changes, train.n_points, 0).sentence(train.n_points, limit).partition("fitting ")[2]
        run.progress.remark(f"memory: {told} it would take about {needed / 1e9:.2f} GB")
    return _with_fewer_documents(model, growth, changes, train, limit, run)


def least_memory(model: Zipfel, train: Dataset, run: Run) -> float:
    """Bytes below which no plan is found: `_FEWEST` documents with the last plan, in a process beside this one."""
    changes = list(_ladder(model, train))[-1]
    plan = Plan(changes, min(_FEWEST, train.n_points), 0.0)
    few = picked(train, chosen_documents(train, plan, run))
    found = run_trial(_changed(model, changes), few, run, _NO_LIMIT)
    return float(held_memory() + found["peak"]) / _ROOM


def _tried(model: Zipfel, documents: Dataset, limit: int, run: Run) -> float | None:
    """Bytes that a fit of these documents takes in this process, as measured in another; None: over the limit."""
    found = run_trial(model, documents, run, _limit_of_trials(limit))
    return None if found["is_over"] else float(held_memory() + found["warm"] + found["growth"])


def chosen_documents(train: Dataset, plan: Plan, run: Run) -> npt.NDArray[np.int64]:
    """Rows in the file's order: one document of each label, up to half of all, and others at random."""
    order = run.rng(51).permutation(train.n_points)
    firsts = np.unique(_first_places(train.Y, np.argsort(order)))[: plan.n_documents // 2]
    is_first = np.zeros(train.n_points, dtype=bool)
    is_first[firsts] = True
    others = np.flatnonzero(~is_first)[: plan.n_documents - len(firsts)]
    return np.sort(order[np.concatenate([firsts, others])]).astype(np.int64)


def _first_places(Y: sp.csr_matrix, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The least place (n,) of each label's documents, of the labels that have one; a block of rows at a time."""
    least = np.full(Y.shape[1], Y.shape[0], dtype=np.int64)
    for a in range(0, Y.shape[0], _BLOCK):
        ends = np.asarray(Y.indptr[a : a + _BLOCK + 1])
        labels = np.asarray(Y.indices[ends[0] : ends[-1]])
        np.minimum.at(least, labels, np.repeat(places[a : a + _BLOCK], np.diff(ends)))
    found: npt.NDArray[np.int64] = least[least < Y.shape[0]]
    return found


def _ladder(model: Zipfel, train: Dataset) -> Iterator[dict[str, Any]]:
    yield {}
    changes: dict[str, Any] = {}
    if model.method == "auto" and model.preset != "quick":
        changes = {"preset": "quick"}
        yield changes
    vectorizer = dict(model.vectorizer or {})
    if train.X is None and "max_words" not in vectorizer:
        yield {**changes, "vectorizer": {**vectorizer, "max_words": MOST_WORDS}}


def _with_fewer_documents(
    model: Zipfel, growth: Growth, changes: dict[str, Any], train: Dataset, limit: int, run: Run
) -> Plan:
    """As many as fit by the estimate, and then by a trial with these documents, which have more labels than others."""
    plan = Plan(changes, min(growth.most_documents(_ROOM * limit), train.n_points), 0.0)
    for _ in range(_TRIES):
        if plan.n_documents < min(_FEWEST, train.n_points):
            break
        documents = picked(train, chosen_documents(train, plan, run))
        needed = _tried(_changed(model, changes), documents, limit, run)
        if needed is not None and needed <= _ROOM * limit:
            return replace(plan, estimate=needed)
        fewer = _FEWER if needed is None else min(_FEWER, _ROOM * limit / needed)
        plan = replace(plan, n_documents=int(plan.n_documents * fewer))
    raise ResourceError(_too_little(limit, max(least_memory(model, train, run), limit / _ROOM)))


def _limit_of_trials(limit: int) -> int:
    """Both processes together keep to the limit."""
    return round(_ROOM * limit) - held_memory()


def _changed(model: Zipfel, changes: dict[str, Any]) -> Zipfel:
    fresh: Zipfel = type(model)(**{**model.get_params(), **changes})
    return fresh


def _note(model: Zipfel, plan: Plan, limit: int, peak: int, n_points: int) -> None:
    facts = {"limit": limit, "estimate": round(plan.estimate), "peak": peak, "changes": plan.changes}
    if plan.n_documents < n_points:
        facts["documents"] = f"{plan.n_documents} of {n_points}"
    model.training_["memory"] = facts


def _too_little(limit: int, needed: float) -> str:
    return (
        f"{limit / 1e6:,.0f} MB are not enough: a fit of {_FEWEST} of these documents needs "
        f"{math.ceil(needed / 1e6):,} MB. Allow more with --max-memory, or "
        "pack the data (`zipfel data pack`), which takes them out of memory"
    )


def _shown(value: Any) -> str:
    return ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
