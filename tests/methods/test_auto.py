"""What auto does beyond the contract: parts can be left out, are dropped where they do not pay, and rare labels can be
favoured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import N_FEATURES, QUICK, fit, fitted, known, round_trip
from zipfel.errors import ModelFileError, ParameterError
from zipfel.index.sparse import unit_csr
from zipfel.kernels.sparse_rows import without_unknown
from zipfel.methods import Points, make_method
from zipfel.methods.auto import Auto
from zipfel.methods.popular import label_priors
from zipfel.metrics import Propensity, evaluate
from zipfel.run import Run

UNSEEN = N_FEATURES - 1
EVERYTHING = {"only": "words,classifiers,frequency,regression,label_sets,tree,forest,joint,network", "keep_all": True}
SMALL = {"label_sets.dim": 32, "label_sets.epochs": 10, "network.hidden": 16, "network.epochs": 20, "tree.leaf": 2}


def _fitted(**params: Any) -> Auto:
    method = fit("auto", known().train, params=params)
    assert isinstance(method, Auto)
    return method


def _names(method: Auto) -> list[str]:
    return [part.name for part in method.ensemble_.parts]


def _again(method: Auto) -> Auto:
    """As it is saved and loaded."""
    again = make_method("auto", method.config.to_dict())
    assert isinstance(again, Auto)
    again.restore(round_trip(method.state()), method.training_.n_features, method.training_.n_labels)
    return again


@pytest.mark.parametrize("without", ["classifiers", "frequency", "regression", "tree", "forest", "joint", "network"])
def test_every_part_can_be_left_out(without: str) -> None:
    method = _fitted(**EVERYTHING, **SMALL, without=without)
    gone = {without, "tree"} if without == "regression" else {without}
    assert set(EVERYTHING["only"].split(",")) - set(_names(method)) == gone  # type: ignore[attr-defined]
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] > 0.7


def test_all_parts_are_saved_explained_and_take_in_new_points() -> None:
    method, test = _fitted(**EVERYTHING, **SMALL, tail=0.5), known().test
    again = _again(method)
    before = method.predict(test.X, 3)
    np.testing.assert_array_equal(again.predict(test.X, 3).scores, before.scores)
    label, score = int(before.labels[0, 0]), float(before.scores[0, 0])
    found = again.explain(test.X[0], [label]).evidence[label]
    assert sum(found.values()) == pytest.approx(score, abs=1e-3)
    kinds = {
        "neighbours by words",
        "neighbours by codes",
        "neighbours by label sets",
        "words",
        "regression",
        "likeness",
    }
    assert kinds | {"label tree", "forest", "joint neighbours", "network", "frequency", "bonus"} <= set(found)
    new = sp.csr_matrix((np.ones(5), (np.arange(5), np.full(5, test.n_labels))), shape=(5, test.n_labels + 2))
    for each in (method, again):
        each.partial_fit(Points(test.X[:5], new))
    np.testing.assert_array_equal(again.predict(test.X, 3).labels, method.predict(test.X, 3).labels)


def test_without_an_only_the_plan_and_the_held_out_points_decide() -> None:
    method = _fitted()
    kept = [tried.part for tried in method.plan_ if tried.kept]
    assert kept == _names(method)
    assert {"words", "classifiers", "frequency"} <= set(kept)
    assert all(tried.why for tried in method.plan_ if not tried.kept)


def test_a_part_that_tells_nothing_is_dropped() -> None:
    """600 documents whose labels words tell; the forest gets random words for leaves of one point."""
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix((rng.random((900, 12)) < 0.15).astype(np.float32))
    X = unit_csr(sp.csr_matrix(Y @ (rng.random((12, 300)) < 0.05) + (rng.random((900, 300)) < 0.02), dtype=np.float32))
    method = make_method("auto", {"only": "words,classifiers,frequency,forest", "forest.trees": 1, "forest.leaf": 1})
    assert isinstance(method, Auto)
    method.fit(Points(X, Y), None, Run(seed=1, threads=1))
    verdict = next(tried for tried in method.plan_ if tried.part == "forest")
    assert verdict.tried
    assert verdict.gain is not None
    assert ("forest" in _names(method)) == verdict.kept == (verdict.gain > (verdict.error or 0))
    np.testing.assert_array_equal(_again(method).predict(X, 3).scores, method.predict(X, 3).scores)


def test_quick_has_no_more_than_neighbours_classifiers_and_frequencies() -> None:
    assert _names(_fitted(effort="quick")) == ["words", "classifiers", "frequency"]


def test_a_model_whose_parts_do_not_fit_is_refused() -> None:
    method, test = _fitted(**EVERYTHING, **SMALL), known().test
    state = round_trip(method.state())
    for change in ({"parts": {}}, {"plan": []}, {"judge": {}}, {"plan": None}, {"shape": {}}):
        with pytest.raises(ModelFileError):
            make_method("auto", method.config.to_dict()).restore(
                type(state)(state.arrays, {**state.facts, **change}), test.n_features, test.n_labels
            )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("drift", "order of the file"),
        ("codes", "without=regression,label_sets"),
        ("ranker.cost", "classifiers"),
        ("woods.trees", "forest"),
        ("regression.most_labels", "without=regression"),
        ("forest", "without=forest"),
    ],
)
def test_parameters_that_are_no_more_say_what_to_use(name: str, hint: str) -> None:
    with pytest.raises(ParameterError, match=hint):
        make_method("auto", {name: "1"})


def _taxonomy(n: int, seed: int, n_labels: int = 30) -> Points:
    """Leaves, told by some of four words each, and their parents, 24 onwards."""
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, 24, n)
    words = np.column_stack([4 * leaf[:, None] + rng.integers(0, 4, (n, 1)), rng.integers(0, 96, (n, 4))])
    X = sp.csr_matrix((np.ones(words.size, np.float32), (np.repeat(np.arange(n), 5), words.ravel())), shape=(n, 96))
    labels = np.concatenate([leaf, 24 + leaf % 6])
    Y = sp.csr_matrix((np.ones(2 * n, np.float32), (np.tile(np.arange(n), 2), labels)), shape=(n, n_labels))
    return Points(X, Y)


def test_a_second_blend_is_saved_explained_and_goes_on_with_new_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfel.evidence.context._SURE", -100.0)  # it counts as better, come what may
    method = make_method("auto", {"effort": "quick", "tail": 0.0})
    assert isinstance(method, Auto)
    method.fit(_taxonomy(2500, 0), None, Run(seed=1, threads=1))
    assert method.judge_.second is not None
    test = _taxonomy(50, 1)
    before = method.predict(test.X, 3)
    again = _again(method)
    np.testing.assert_array_equal(again.predict(test.X, 3).labels, before.labels)
    label = int(before.labels[0, 0])
    explained = again.explain(test.X[[0]], [label]).evidence[label]
    assert explained["other labels"] != 0
    assert sum(explained.values()) == pytest.approx(float(before.scores[0, 0]), abs=1e-3)
    again.partial_fit(_taxonomy(40, 2, n_labels=33))
    assert again.predict(test.X, 3).labels.max() < 33


def test_as_many_labels_as_asked_for_are_candidates() -> None:
    few, many = (_fitted(candidates=2).predict(known().test.X, k).labels for k in (2, known().train.n_labels + 5))
    assert many.shape[1] == known().train.n_labels + 5
    assert ((many >= 0).sum(axis=1) > 2).any()
    assert (few >= 0).sum(axis=1).max() == 2


def test_a_bonus_favours_rare_labels() -> None:
    counts = np.bincount(known().train.Y.indices, minlength=known().train.n_labels)
    mean = [counts[_fitted(tail=tail).predict(known().test.X, 2).labels].mean() for tail in (0.0, 20.0)]
    assert mean[1] < mean[0]


def test_the_bonus_follows_the_propensity_of_the_run_also_after_loading_and_an_update() -> None:
    params = {"only": "words,frequency", "tail": 1.0}
    usual = _fitted(**params)
    flat = fit("auto", known().train, run=Run(threads=1, propensity=(0.0, 1.5)), params=params)
    assert isinstance(flat, Auto)
    assert np.ptp(usual.training_.rarity) > 0 == np.ptp(flat.training_.rarity)
    again = _again(flat)
    again.partial_fit(known().valid)
    assert again.training_.propensity == flat.training_.propensity == Propensity(0.0, 1.5)


def test_a_wrong_name_of_a_part_is_told_before_there_are_data() -> None:
    for name in ("only", "without"):
        with pytest.raises(ParameterError, match=r"no part 'forrest' .did you mean 'forest'"):
            make_method("auto", {name: "words, forrest"})


def test_a_given_validation_set_is_learnt_from_in_the_end() -> None:
    method = fit("auto", known().train, known().valid)
    assert isinstance(method, Auto)
    n_points = known().train.n_points + known().valid.n_points
    assert len(method.training_.words) == method.training_.n_points == n_points


def test_a_validation_set_without_points_is_none() -> None:
    train = known().train
    method = fit("auto", train, train.take(np.arange(0)))
    np.testing.assert_array_equal(method.predict(train.X, 3).labels, fitted("auto").predict(train.X, 3).labels)


def test_documents_that_share_nothing_make_a_model_all_the_same() -> None:
    points = Points(sp.csr_matrix(np.eye(3, dtype=np.float32)), sp.csr_matrix(np.eye(3, dtype=np.float32)))
    method = make_method("auto", {"effort": "quick"})
    assert isinstance(method, Auto)
    method.fit(points, None, Run(seed=1, threads=1))
    assert _again(method).predict(points.X, 1).labels[:, 0].tolist() == [0, 1, 2]


def test_fitted_again_it_knows_nothing_of_before() -> None:
    rng = np.random.default_rng(0)
    points = Points(sp.csr_matrix(rng.random((200, 8), dtype=np.float32)), sp.csr_matrix(rng.random((200, 20)) < 0.1))
    used, fresh = _fitted(), make_method("auto", QUICK["auto"])
    for method in (used, fresh):
        method.fit(points, None, Run(seed=1, threads=1))
    np.testing.assert_array_equal(used.predict(points.X, 3).labels, fresh.predict(points.X, 3).labels)


def _run_alone(code: str) -> None:
    """In a process of its own, which no other test has loaded anything into."""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_torch_is_not_loaded() -> None:
    """The core has none."""
    params = json.dumps({**EVERYTHING, **SMALL})
    code = (
        "import sys, json; from tests.contract import known; from zipfel.methods import make_method; "
        f"from zipfel.run import Run; method = make_method('auto', json.loads({params!r})); "
        "method.fit(known().train, None, Run(seed=1, threads=2)); method.predict(known().test.X, 3); "
        "sys.exit('torch' in sys.modules or 'faiss' in sys.modules)"
    )
    _run_alone(code)


@pytest.mark.parametrize("valid", [False, True])
def test_out_of_time_it_answers_the_same_after_loading(valid: bool) -> None:
    points, method = known(), make_method("auto", {})
    assert isinstance(method, Auto)
    method.fit(points.train, points.valid if valid else None, Run(seed=1, threads=1, time_budget=1e-3))
    assert _names(method) == ["words", "classifiers", "frequency"]
    before, after = (one.predict(points.train.X, 3) for one in (method, _again(method)))
    np.testing.assert_array_equal(before.labels, after.labels)


def test_no_more_is_looked_for_than_there_is() -> None:
    """However many neighbours and candidates the config, or a model file, asks for: there would be room for all."""
    train, params = known().train, {"effort": "quick"}
    wide = {"neighbors": 10**12, "candidates": 10**12}
    method, same = (make_method("auto", {**params, **n}) for n in (wide, {"neighbors": train.n_points}))
    for each in (method, same):
        each.fit(train, None, Run(seed=1, threads=1))
    assert isinstance(method, Auto)
    for each in (_again(method), same):
        np.testing.assert_array_equal(each.predict(train.X, 3).scores, method.predict(train.X, 3).scores)


def test_only_rows_without_any_known_feature_are_emptied() -> None:
    X = sp.csr_matrix(np.array([[1, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 0], [0, 4, 0, 5]], dtype=np.float32))
    known_features = np.array([True, False, False, True])
    wanted = X.toarray()
    wanted[1] = 0
    np.testing.assert_array_equal(without_unknown(X, known_features).toarray(), wanted)
    assert without_unknown(X[[0, 3]], known_features).nnz == 4


@pytest.mark.parametrize("without", ["", "classifiers"])
def test_strange_documents_have_the_most_frequent_labels_also_after_loading(without: str) -> None:
    train, method = known().train, _fitted(without=without)
    strange = sp.csr_matrix(([1.0], ([0], [UNSEEN])), shape=(1, N_FEATURES), dtype=np.float32)
    frequent = np.argsort(-label_priors(train.Y), kind="stable")[:3]
    for one in (method, _again(method)):
        np.testing.assert_array_equal(one.predict(strange, 3).labels[0], frequent)
    assert not any(method.explain(strange, frequent.tolist()).voters.values())
    rarest = int(np.argmin(label_priors(train.Y)))
    owner = sp.csr_matrix(([1.0], ([0], [rarest])), shape=(1, train.n_labels), dtype=np.float32)
    method.partial_fit(Points(strange, owner))
    assert method.predict(strange, 1).labels[0, 0] == rarest


def test_documents_with_few_neighbours_have_the_most_frequent_labels_as_candidates() -> None:
    """Of a feature that one point has, with its rarest label alone."""
    train = known().train
    rarest, frequent = (int(at(label_priors(train.Y))) for at in (np.argmin, np.argmax))
    odd = sp.csr_matrix(([1.0], ([0], [UNSEEN])), shape=(1, N_FEATURES), dtype=np.float32)
    owner = sp.csr_matrix(([1.0], ([0], [rarest])), shape=(1, train.n_labels), dtype=np.float32)
    method = make_method("auto", {"effort": "quick"})
    points = Points(sp.vstack([train.X, odd], "csr"), sp.vstack([train.Y, owner], "csr"))
    method.fit(points, None, Run(seed=1, threads=1))
    found = method.predict(odd, train.n_labels).labels[0].tolist()
    assert found[0] == rarest
    assert frequent in found
