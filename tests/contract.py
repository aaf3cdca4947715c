"""What every method must do, whatever it is: the checks run on each name in the registry.

A new method gets them all by being registered. Where its defaults are too slow for data of a hundred rows, it gets a
line in `QUICK`; where it can't know the answer by design, in `CLUELESS`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from zipfel.data import label_matrix
from zipfel.errors import ParameterError, ZipfelError
from zipfel.methods import Method, Points, State, make_method, method_class
from zipfel.metrics import evaluate
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.system.threads import use_threads

QUICK: dict[str, dict[str, Any]] = {
    "rankae": {"word_dim": 16, "dim": 16, "hidden": 32, "epochs": 15, "batch": 16, "lr": 0.01},
    "lightdxml": {"dim": 32, "epochs": 12, "label_epochs": 2, "batch": 16, "dropout": 0.2},
    "astec": {"dim": 32, "surrogate_epochs": 10, "ranker_epochs": 3, "batch": 16, "lr": 0.02},
    "auto": {"regression.landmarks": 50},
    "mnn": {"dim": 32, "epochs": 5, "batch": 16},
    "glas": {"dim": 32, "epochs": 15, "batch": 16, "sampled": 20, "length": 5.0, "lr": 0.01},
    "dxml": {"dim": 16, "hidden": 32, "epochs": 40, "batch": 16, "walks": 50, "lr": 0.1, "dropout": 0.2},
    "sleec": {"dim": 16, "cluster": 60, "learners": 2},
}
"""Parameters that make a method learn the known answer in about a second."""

CLUELESS = {"popular"}
"""Methods that do not look at the document."""

DAMAGE = (ZipfelError, KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError)
"""What `restore` may raise; the estimator turns all of these into a ModelFileError."""

N_LABELS, SEEN, OWN, NOISE, UNUSED = 7, 6, 4, 6, 3
N_FEATURES = SEEN * OWN + NOISE + UNUSED
"""Label l < 6 has the features 4l to 4l + 3 to itself; label 6 is never seen; the last 3 features are never used."""


@dataclass(frozen=True)
class Known:
    """Data with a known answer: a document's labels are those whose own features it has."""

    train: Points
    valid: Points
    test: Points


@cache
def known() -> Known:
    rng = np.random.default_rng(5)
    train, valid, test = (_points(n, rng) for n in (120, 30, 40))
    keep = np.ones(120)
    keep[3] = 0  # a row without features, but with labels
    X = sp.csr_matrix(sp.diags(keep) @ train.X, dtype=np.float32)
    X.eliminate_zeros()
    without = np.ones(120)
    without[[7, 8]] = 0  # rows without labels
    Y = sp.csr_matrix(sp.diags(without) @ train.Y, dtype=np.float32)
    Y.eliminate_zeros()
    return Known(Points(X, Y), valid, test)


def _points(n: int, rng: np.random.Generator) -> Points:
    """One or two labels a row, the lower ids more often; three of each label's own features, and one of noise."""
    rows, columns, labels = [], [], []
    for row in range(n):
        mine = np.unique((SEEN * rng.random(rng.integers(1, 3)) ** 1.5).astype(int))
        labels += [(row, label) for label in mine]
        for label in mine:
            columns += (label * OWN + rng.permutation(OWN)[:3]).tolist()
            rows += [row] * 3
        columns.append(int(SEEN * OWN + rng.integers(NOISE)))
        rows.append(row)
    values = rng.uniform(0.5, 1.0, len(rows)).astype(np.float32)
    X = sp.csr_matrix((values, (rows, columns)), shape=(n, N_FEATURES))
    where, what = np.array(labels).T
    return Points(X, label_matrix(where, what, (n, N_LABELS)))


def fit(
    name: str,
    train: Points,
    valid: Points | None = None,
    run: Run | None = None,
    params: Mapping[str, Any] | None = None,
) -> Method:
    method = make_method(name, {**QUICK.get(name, {}), **(params or {})})
    with use_threads(1):
        method.fit(train, valid, run or quick_run())
    return method


def quick_run(**settings: Any) -> Run:
    """One thread: on data this small, two only wait for each other."""
    return Run(**{"seed": 1, "threads": 1, **settings})


@cache
def fitted(name: str) -> Method:
    """The method after the known data; checks that only ask share it."""
    return fit(name, known().train)


def round_trip(state: State) -> State:
    """Through what a model folder is made of."""
    return State(load_tensors(save_tensors(contiguous(state))), json.loads(json.dumps(dict(state.facts))))


def contiguous(state: State) -> dict[str, Any]:
    return {name: np.ascontiguousarray(array) for name, array in state.arrays.items()}


def assert_sound(ranking: Ranking, n_points: int, k: int, n_labels: int) -> None:
    """Ids in range and distinct, scores finite and falling, ties to the lowest id, pads only at the end."""
    assert ranking.labels.shape == ranking.scores.shape == (n_points, k)
    assert ranking.labels.dtype == np.int64
    assert ranking.scores.dtype == np.float32
    for labels, scores in zip(ranking.labels, ranking.scores, strict=True):
        size = int((labels >= 0).sum())
        assert (labels[size:] == -1).all(), "pads stand at the end"
        assert np.isneginf(scores[size:]).all()
        assert np.isfinite(scores[:size]).all()
        assert (labels[:size] < n_labels).all()
        assert len(set(labels[:size].tolist())) == size, "no label twice"
        order = np.lexsort((labels[:size], -scores[:size]))
        assert order.tolist() == list(range(size)), "best first, ties to the lowest id"


def assert_same(one: Ranking, other: Ranking) -> None:
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.scores, other.scores)


class Interrupting:
    """Progress that stops the run, as Ctrl-C would, at the given step; with None it only counts steps."""

    def __init__(self, at: int | None) -> None:
        self.at, self.steps = at, 0

    def task(self, name: str, total: float | None = None) -> Interrupting:
        return self

    def message(self, text: str) -> None:
        pass

    def advance(self, amount: float = 1, **shown: float | str) -> None:
        self.steps += 1
        if self.steps == self.at:
            raise KeyboardInterrupt

    def __enter__(self) -> Interrupting:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class MethodContract:
    """Inherited by tests/methods/test_contract.py, whose fixture `name` goes through the registry."""

    def test_finds_the_known_answer(self, name: str) -> None:
        test = known().test
        ranking = fitted(name).predict(test.X, 3)
        assert_sound(ranking, test.n_points, 3, N_LABELS)
        if name not in CLUELESS:
            assert evaluate(ranking, test.Y, ks=(1,))["P@1"] >= 0.9

    def test_batch_equals_single_rows(self, name: str) -> None:
        method, X = fitted(name), known().test.X[:12]
        batch = method.predict(X, 4)
        single = Ranking.concatenate([method.predict(X[row], 4) for row in range(12)])
        np.testing.assert_array_equal(batch.labels, single.labels)
        np.testing.assert_allclose(batch.scores, single.scores, rtol=1e-4, atol=1e-6)  # BLAS rounds by shape

    def test_no_row_changes_anothers_answer(self, name: str) -> None:
        method, X = fitted(name), known().test.X
        order = np.random.default_rng(0).permutation(X.shape[0])
        shuffled, plain = method.predict(X[order], 4), method.predict(X, 4)
        np.testing.assert_array_equal(shuffled.labels, plain.labels[order])

    def test_k_above_n_labels_pads(self, name: str) -> None:
        ranking = fitted(name).predict(known().test.X, N_LABELS + 5)
        assert_sound(ranking, known().test.n_points, N_LABELS + 5, N_LABELS)
        assert (ranking.labels[:, N_LABELS:] == -1).all()

    def test_smaller_k_is_the_beginning_of_a_larger_one(self, name: str) -> None:
        method, X = fitted(name), known().test.X
        np.testing.assert_array_equal(method.predict(X, 2).labels, method.predict(X, 5).labels[:, :2])

    def test_rows_without_features_and_with_unseen_ones(self, name: str) -> None:
        method, X = fitted(name), known().test.X[:2]
        empty = sp.csr_matrix((1, N_FEATURES), dtype=np.float32)
        unseen = sp.csr_matrix(([1.0], ([0], [N_FEATURES - 1])), shape=(1, N_FEATURES), dtype=np.float32)
        mixed = sp.vstack([X[0], empty, unseen, X[1]], "csr")
        ranking = method.predict(mixed, 3)
        assert_sound(ranking, 4, 3, N_LABELS)
        np.testing.assert_array_equal(ranking.labels[[0, 3]], method.predict(X, 3).labels)

    def test_an_unseen_feature_beside_known_ones_does_no_harm(self, name: str) -> None:
        X = known().test.X.copy().tolil()
        X[:, N_FEATURES - 2] = 0.1
        ranking = fitted(name).predict(sp.csr_matrix(X, dtype=np.float32), 1)
        if name not in CLUELESS:
            assert evaluate(ranking, known().test.Y, ks=(1,))["P@1"] >= 0.85

    def test_no_rows_at_all(self, name: str) -> None:
        assert fitted(name).predict(sp.csr_matrix((0, N_FEATURES), dtype=np.float32), 3).labels.shape == (0, 3)

    def test_unsorted_and_duplicate_indices(self, name: str) -> None:
        X = known().test.X[:10]
        halves = [np.repeat(X.indices[X.indptr[i] : X.indptr[i + 1]][::-1], 2) for i in range(10)]
        values = [np.repeat(X.data[X.indptr[i] : X.indptr[i + 1]][::-1] / 2, 2) for i in range(10)]
        odd = sp.csr_matrix((np.concatenate(values), np.concatenate(halves), X.indptr * 2), shape=X.shape)
        method = fitted(name)
        np.testing.assert_allclose(method.predict(odd, 3).scores, method.predict(X, 3).scores, rtol=1e-4, atol=1e-6)

    def test_predict_leaves_its_input_alone(self, name: str) -> None:
        X = known().test.X.copy()
        fitted(name).predict(X, 3)
        assert (X != known().test.X).nnz == 0

    def test_state_round_trip_answers_the_same(self, name: str) -> None:
        method, X = fitted(name), known().test.X
        again = make_method(name, method.config.to_dict())
        again.restore(round_trip(method.state()), N_FEATURES, N_LABELS)
        assert_same(method.predict(X, 5), again.predict(X, 5))

    def test_a_cut_or_missing_array_is_refused(self, name: str) -> None:
        state = round_trip(fitted(name).state())
        for key, array in state.arrays.items():
            rest = {other: found for other, found in state.arrays.items() if other != key}
            for arrays in (rest, {**rest, key: array[: len(array) // 2]} if array.ndim else rest):
                with pytest.raises(DAMAGE):
                    make_method(name, fitted(name).config.to_dict()).restore(
                        State(arrays, state.facts), N_FEATURES, N_LABELS
                    )

    def test_same_seed_same_result(self, name: str) -> None:
        again, X = fit(name, known().train), known().test.X
        assert_same(fitted(name).predict(X, 5), again.predict(X, 5))

    def test_resumed_equals_uninterrupted(self, name: str, tmp_path: Path) -> None:
        whole = Interrupting(None)
        method = fit(name, known().train, run=quick_run(seed=2, checkpoint=tmp_path / "whole", progress=whole))
        run = quick_run(seed=2, checkpoint=tmp_path / "part", progress=Interrupting(max(1, whole.steps * 2 // 3)))
        if whole.steps:
            with pytest.raises(KeyboardInterrupt):
                fit(name, known().train, run=run)
        resumed = fit(name, known().train, run=quick_run(seed=2, checkpoint=tmp_path / "part", resume=True))
        assert_same(method.predict(known().test.X, 5), resumed.predict(known().test.X, 5))

    def test_choices_on_validation_points(self, name: str) -> None:
        method = fit(name, known().train, known().valid)
        ranking = method.predict(known().test.X, 3)
        assert_sound(ranking, known().test.n_points, 3, N_LABELS)
        if name not in CLUELESS:
            assert evaluate(ranking, known().test.Y, ks=(1,))["P@1"] >= 0.9

    def test_out_of_time_there_is_a_model_all_the_same(self, name: str) -> None:
        method = fit(name, known().train, run=quick_run(time_budget=0.0))
        assert_sound(method.predict(known().test.X, 3), known().test.n_points, 3, N_LABELS)

    @pytest.mark.parametrize("labels", [[[1], [1]], [[1], [0]], [[1, 1], [0, 1]]], ids=["one", "half", "two"])
    def test_two_points_with_a_label_or_two(self, name: str, labels: list[list[int]]) -> None:
        X = sp.csr_matrix(np.array([[1, 0, 0.5], [0, 1, 0.5]], dtype=np.float32))
        Y = sp.csr_matrix(np.array(labels, dtype=np.float32))
        method = fit(name, Points(X, Y))
        ranking = method.predict(X, 2)
        assert_sound(ranking, 2, 2, Y.shape[1])
        assert ranking.labels[0, 0] >= 0

    def test_config_round_trip_and_presets(self, name: str) -> None:
        cls = method_class(name)
        config = make_method(name, QUICK.get(name)).config
        assert cls.Config.from_dict(json.loads(json.dumps(config.to_dict()))) == config
        assert all(parameter.help for parameter in cls.Config.parameters())
        for preset in cls.presets:
            make_method(name, preset=preset)

    def test_an_unknown_parameter_names_the_nearest(self, name: str) -> None:
        for parameter in method_class(name).Config.parameters() or [None]:
            known_name = "" if parameter is None else parameter.name
            with pytest.raises(ParameterError, match="unknown parameter .*" + known_name.rpartition(".")[2]):
                make_method(name, {known_name + "x": 1})
