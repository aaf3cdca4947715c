"""`zipfel fit --max-memory`: estimates what a fit takes, chooses a plan that fits, and keeps to it.

Plans, from the fullest on; each is tried on samples (see `trial`) until one fits:

    1. as asked
    2. auto's preset `quick`: words and classifiers, no codes, forest or network
    3. texts: only the `MOST_WORDS` weightiest words of each are learnt from
    4. so many documents as fit: one of each label, the others at random

While the plan is carried out, memory is watched. Where it reaches the limit nevertheless, the fit is halted and begins
again with fewer documents.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from zipfel.errors import ResourceError
from zipfel.kernels.loading import load_kernels
from zipfel.scale.resident import held_memory, watched
from zipfel.scale.trial import Growth, measured_growth, run_trial
from zipfel.system.interrupts import Halted, check_halted

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel
    from zipfel.data import Dataset
    from zipfel.run import Run

MOST_WORDS = 64
_ROOM = 0.9
"""Share of the limit that an estimate may take; estimates are within a quarter, mostly within a tenth."""
_FEWER, _TRIES = 0.7, 6
"""Documents of the next try where a fit came to the limit, and how many tries there are."""
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
    load_kernels()
    plan = chosen_plan(model, train, limit, run)
    run.progress.remark(plan.sentence(train.n_points, limit))
    model.set_params(**plan.changes)
    peak = 0
    for attempt in range(_TRIES):
        part = train if plan.n_documents == train.n_points else train.take(chosen_documents(train, plan, run))
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
        _give_back()
        check_halted()
        plan = replace(plan, n_documents=int(_FEWER * plan.n_documents), estimate=_FEWER * plan.estimate)
        if attempt + 1 < _TRIES and plan.n_documents >= _FEWEST:
            run.progress.remark(f"the limit was reached; begins again {plan.sentence(train.n_points, limit)}")
        else:
            break
    raise ResourceError(_too_little(limit, held_memory()))


def chosen_plan(model: Zipfel, train: Dataset, limit: int, run: Run) -> Plan:
    """The fullest plan whose estimate fits."""
    allowed, held = _ROOM * limit, held_memory()
    if held > allowed:
        raise ResourceError(_too_little(limit, held))
    changes: dict[str, Any] = {}
    for changes in _ladder(model, train):
        growth = measured_growth(_changed(model, changes), train, run, held, _limit_of_trials(limit))
        if growth.at(train.n_points) <= allowed:
            return Plan(changes, train.n_points, growth.at(train.n_points))
        needed = growth.at(train.n_points) / 1e9
        told = Plan(changes, train.n_points, 0).sentence(train.n_points, limit).partition("fitting ")[2]
        run.progress.remark(f"memory: {told} it would take about {needed:.2f} GB")
    return _with_fewer_documents(model, growth, changes, train, limit, run)


def chosen_documents(train: Dataset, plan: Plan, run: Run) -> npt.NDArray[np.int64]:
    """Rows in the file's order: one document of each label, up to half of all, and others at random."""
    order = run.rng(51).permutation(train.n_points)
    columns = train.Y[order].tocsc()
    filled = np.flatnonzero(np.diff(columns.indptr))
    firsts = np.unique(columns.indices[columns.indptr[filled]])[: plan.n_documents // 2]
    is_first = np.zeros(train.n_points, dtype=bool)
    is_first[firsts] = True
    others = np.flatnonzero(~is_first)[: plan.n_documents - len(firsts)]
    return np.sort(order[np.concatenate([firsts, others])]).astype(np.int64)


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
        documents = train.take(chosen_documents(train, plan, run))
        found = run_trial(_changed(model, changes), documents, run, _limit_of_trials(limit))
        needed = held_memory() + found["warm"] + found["growth"]
        if not found["is_over"] and needed <= _ROOM * limit:
            return replace(plan, estimate=needed)
        plan = replace(plan, n_documents=int(plan.n_documents * min(_FEWER, _ROOM * limit / needed)))
    raise ResourceError(_too_little(limit, growth.at(_FEWEST)))


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


def _give_back() -> None:
    """Returns freed memory to the system, if the allocator supports it."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _too_little(limit: int, needed: float) -> str:
    return (
        f"{limit / 1e9:.2f} GB are not enough: {needed / 1e9:.2f} GB are held before the documents count. Allow more "
        "with --max-memory, or pack the data (`zipfel data pack`), which takes them out of memory"
    )


def _shown(value: Any) -> str:
    return ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
