"""What auto does beyond the contract: every part can be switched off, and rare labels can be favoured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.contract import QUICK, known
from zipfel.methods import make_method
from zipfel.methods.auto import Auto
from zipfel.metrics import evaluate
from zipfel.run import Run


def _fitted(**params: Any) -> Auto:
    method = make_method("auto", {**QUICK["auto"], **params})
    assert isinstance(method, Auto)
    method.fit(known().train, None, Run(seed=1, threads=1))
    return method


@pytest.mark.parametrize("without", ["votes", "classifiers", "prior"])
def test_every_part_can_be_switched_off(without: str) -> None:
    method = _fitted(**{without: False})
    assert {"votes": "crowd", "classifiers": "trust", "prior": "frequency"}[without] not in method.blend_.names
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] > 0.7


def test_tail_favours_rare_labels() -> None:
    counts = np.bincount(known().train.Y.indices, minlength=known().train.n_labels)
    mean = [counts[_fitted(tail=tail).predict(known().test.X, 2).labels].mean() for tail in (0.0, 20.0)]
    assert mean[1] < mean[0]


def test_a_given_validation_set_is_learnt_from_in_the_end() -> None:
    method = make_method("auto", QUICK["auto"])
    assert isinstance(method, Auto)
    method.fit(known().train, known().valid, Run(seed=1, threads=1))
    assert len(method.codes_) == known().train.n_points + known().valid.n_points
