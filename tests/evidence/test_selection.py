"""A part stays only if held-out points are ranked worse without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.evidence.judge import HeldOut
from zipfel.evidence.rules import CHOICE_FROM
from zipfel.evidence.selection import verdicts


def _held(n: int, columns: dict[str, Any], seed: int = 0) -> HeldOut:
    """20 labels, of which a fifth is true; columns: by name, a function of truth and noise (n, 20)."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 20)) < 0.2
    evidence = np.stack([make(truth, rng.normal(size=truth.shape)) for make in columns.values()], axis=2)
    labels = np.tile(np.arange(20), (n, 1))
    counts = np.full(20, 10)
    names, rarity = list(columns), np.ones(20, dtype=np.float32)
    return HeldOut(names, labels, evidence.astype(np.float32), sp.csr_matrix(truth), counts, rarity, frozenset())


def _good(truth: Any, noise: Any) -> Any:
    return 2 * truth + noise


def _useless(truth: Any, noise: Any) -> Any:
    return noise


def _kept(held: HeldOut, parts: dict[str, list[int]], doubted: list[str], needs: Any = None) -> set[str]:
    return {v.part for v in verdicts(held, parts, doubted, needs or {}) if v.kept}


def test_what_tells_something_stays_and_what_does_not_goes() -> None:
    held = _held(600, {"a": _good, "b": _good, "c": _useless})
    parts = {"a": [0], "b": [1], "c": [2]}
    found = {verdict.part: verdict for verdict in verdicts(held, parts, ["b", "c"], {})}
    assert found["b"].kept
    assert found["b"].gain > found["b"].error > 0
    assert not found["c"].kept
    assert found["c"].gain <= found["c"].error


def test_of_twins_one_stays() -> None:
    held = _held(600, {"a": _good, "b": _good})
    twin = np.concatenate([held.evidence, held.evidence[:, :, 1:]], axis=2)
    held = HeldOut(["a", "b", "c"], held.labels, twin, held.truth, held.counts, held.rarity, frozenset())
    assert len(_kept(held, {"a": [0], "b": [1], "c": [2]}, ["b", "c"])) == 1


def test_a_part_that_another_needs_stays_with_it() -> None:
    held = _held(600, {"a": _good, "codes": _useless, "tree": _good})
    parts = {"a": [0], "codes": [1], "tree": [2]}
    assert _kept(held, parts, ["codes", "tree"], {"tree": ("codes",)}) == {"codes", "tree"}
    held = _held(600, {"a": _good, "codes": _useless, "tree": _useless})
    assert _kept(held, parts, ["codes", "tree"], {"tree": ("codes",)}) == set()


def test_few_points_decide_nothing() -> None:
    held = _held(CHOICE_FROM - 1, {"a": _good, "b": _useless})
    found = verdicts(held, {"a": [0], "b": [1]}, ["b"], {})
    assert found[0].kept
    assert np.isnan(found[0].gain)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_on_any_threads(threads: int) -> None:
    from zipfel.system.threads import use_threads

    held = _held(300, {"a": _good, "b": _good, "c": _useless})
    with use_threads(threads):
        found = verdicts(held, {"a": [0], "b": [1], "c": [2]}, ["b", "c"], {})
    with use_threads(1):
        assert found == verdicts(held, {"a": [0], "b": [1], "c": [2]}, ["b", "c"], {})
