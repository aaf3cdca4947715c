"""What auto does beyond the contract: every part can be switched off, and rare labels can be favoured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import QUICK, known, round_trip
from zipfel.errors import ModelFileError
from zipfel.index.sparse import unit_csr
from zipfel.methods import Points, auto, make_method
from zipfel.methods.auto import Auto
from zipfel.methods.auto_config import AutoConfig
from zipfel.methods.auto_judge import TAILS, HeldOut, largest_bonus, learn_judge
from zipfel.methods.auto_parts import Fitting
from zipfel.metrics import evaluate
from zipfel.neighbors.forest import Forest
from zipfel.neighbors.words import WordIndex
from zipfel.nn.network import NetworkTraining
from zipfel.run import Run


def _fitted(**params: Any) -> Auto:
    method = make_method("auto", {**QUICK["auto"], **params})
    assert isinstance(method, Auto)
    method.fit(known().train, None, Run(seed=1, threads=1))
    return method


@pytest.mark.parametrize("without", ["votes", "codes", "classifiers", "tree", "forest", "prior"])
def test_every_part_can_be_switched_off(without: str) -> None:
    method = _fitted(**{without: False})
    gone = {
        "votes": "words: crowd", "codes": "codes: crowd", "classifiers": "trust", "tree": "label tree: leaf",
        "forest": "log forest", "prior": "frequency",
    }[without]  # fmt: skip
    assert gone in _fitted().blend_.names
    assert gone not in method.blend_.names
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] > 0.7


def test_many_labels_have_a_matcher_instead_of_a_regression() -> None:
    method = _fitted(**{"regression.most_labels": 0, "matcher.dim": 32, "matcher.epochs": 6, "matcher.batch": 16})
    assert "likeness" in method.blend_.names
    assert "regression" not in method.blend_.names
    again, test = make_method("auto", method.config.to_dict()), known().test
    again.restore(round_trip(method.state()), test.n_features, test.n_labels)
    np.testing.assert_array_equal(again.predict(test.X, 3).labels, method.predict(test.X, 3).labels)
    assert evaluate(method.predict(test.X, 1), test.Y, ks=(1,))["P@1"] > 0.7


def _with_few_features(time_budget: float | None = None, **params: Any) -> tuple[Points, Auto]:
    rng = np.random.default_rng(0)
    labels = (rng.random((200, 20)) < 0.1).astype(np.float32)
    points = Points(sp.csr_matrix(rng.random((200, 8), dtype=np.float32)), sp.csr_matrix(labels))
    method = make_method("auto", {**QUICK["auto"], **params})
    assert isinstance(method, Auto)
    method.fit(points, None, Run(seed=1, threads=1, time_budget=time_budget))
    return points, method


def test_fewer_features_than_labels_have_pairs_instead_of_a_tree() -> None:
    points, method = _with_few_features()
    assert method.further_.tree is None
    assert {"label sets: points", "likeness", "regression"} <= set(method.blend_.names)
    assert method.predict(points.X[:3], 2).labels.shape == (3, 2)
    assert "likeness" not in _fitted().blend_.names  # features are many there
    again = make_method("auto", method.config.to_dict())
    again.restore(round_trip(method.state()), points.n_features, points.n_labels)
    np.testing.assert_array_equal(again.predict(points.X, 3).scores, method.predict(points.X, 3).scores)


def test_pairs_can_be_explained_and_updated() -> None:
    points, method = _with_few_features()
    best = method.predict(points.X[0], 1)
    label, score = best.labels[0, 0], best.scores[0, 0]
    found = method.explain(points.X[0], [int(label)]).evidence[label]
    assert {"neighbours by label sets", "likeness"} <= set(found)
    assert sum(found.values()) == pytest.approx(float(score), abs=1e-4)
    method.partial_fit(Points(points.X[:5], sp.csr_matrix(np.eye(5, 25, 20, dtype=np.float32))))
    assert {len(space.memory.points) for space in method.spaces_} == {205}
    assert method.predict(points.X[:5], 25).labels.max() == 24


def test_many_points_with_few_features_have_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _with_few_features()[1].further_.network is None
    monkeypatch.setattr("zipfel.methods.auto_parts._NETWORKED", 200)
    assert _with_few_features(network=False)[1].further_.network is None
    assert _with_few_features(time_budget=1e-3)[1].further_.network is None
    points, method = _with_few_features()
    assert "network" in method.blend_.names
    assert method.further_.network is not None
    run, config = Run(seed=1, threads=1), method.config.networking  # the held-out points count in the end
    whole = NetworkTraining(config, method._seen(points.X), points.Y, run).fit(run).network()
    np.testing.assert_array_equal(method.further_.network.labels, whole.labels)
    without = make_method("auto", method.config.to_dict() | {"network": False})
    with pytest.raises(ModelFileError, match="network"):  # the blend wants what the parameters leave out
        without.restore(round_trip(method.state()), points.n_features, points.n_labels)
    again = make_method("auto", method.config.to_dict())
    again.restore(round_trip(method.state()), points.n_features, points.n_labels)
    np.testing.assert_array_equal(again.predict(points.X, 3).scores, method.predict(points.X, 3).scores)
    best = method.predict(points.X[0], 1)
    label, score = best.labels[0, 0], best.scores[0, 0]
    found = method.explain(points.X[0], [int(label)]).evidence[label]
    assert "network" in found
    assert sum(found.values()) == pytest.approx(float(score), abs=1e-4)
    method.partial_fit(Points(points.X[:5], sp.csr_matrix(np.eye(5, 25, 20, dtype=np.float32))))
    assert method.predict(points.X[:5], 25).labels.max() == 24


def test_beside_a_network_no_cost_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[float, float]] = []

    def choose(_: Fitting, __: object, costs: tuple[float, float], *___: object) -> float:
        tried.append(costs)
        return costs[1]

    monkeypatch.setattr(Fitting, "choose_cost", choose)
    monkeypatch.setattr("zipfel.methods.auto.are_short", lambda _: True)
    assert _with_few_features(damping=0.6)[1].cost_ == 1.0
    monkeypatch.setattr("zipfel.methods.auto_parts._NETWORKED", 200)
    assert _with_few_features(damping=0.6)[1].cost_ == 0.3
    assert tried == [(0.3, 1.0)]


def test_fitted_again_it_knows_nothing_of_before() -> None:
    rng = np.random.default_rng(0)
    points = Points(sp.csr_matrix(rng.random((200, 8), dtype=np.float32)), sp.csr_matrix(rng.random((200, 20)) < 0.1))
    used, fresh = _fitted(), make_method("auto", QUICK["auto"])
    assert used.further_.tree is not None
    for method in (used, fresh):
        method.fit(points, None, Run(seed=1, threads=1))
    np.testing.assert_array_equal(used.predict(points.X, 3).labels, fresh.predict(points.X, 3).labels)


def test_a_tree_that_the_parameters_do_not_name_is_refused() -> None:
    method, test = _fitted(), known().test
    state = round_trip(method.state())
    other = make_method("auto", {**QUICK["auto"], "tree": False})
    with pytest.raises(ModelFileError, match="blend"):
        other.restore(state, test.n_features, test.n_labels)


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
    method = make_method("auto", {"codes": False, "tail": 0.0})
    assert isinstance(method, Auto)
    method.fit(_taxonomy(2500, 0), None, Run(seed=1, threads=1))
    assert method.blend_.second is not None
    test = _taxonomy(50, 1)
    before = method.predict(test.X, 3)
    again = make_method("auto", method.config.to_dict())
    again.restore(round_trip(method.state()), test.n_features, test.n_labels)
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


def test_tail_favours_rare_labels() -> None:
    counts = np.bincount(known().train.Y.indices, minlength=known().train.n_labels)
    mean = [counts[_fitted(tail=tail).predict(known().test.X, 2).labels].mean() for tail in (0.0, 20.0)]
    assert mean[1] < mean[0]


def test_a_given_validation_set_is_learnt_from_in_the_end() -> None:
    method = make_method("auto", QUICK["auto"])
    assert isinstance(method, Auto)
    method.fit(known().train, known().valid, Run(seed=1, threads=1))
    n_points = known().train.n_points + known().valid.n_points
    assert len(method.words_) == len(method.spaces_[0].memory.points) == method.Y_.shape[0] == n_points


def test_held_out_points_are_not_seen_before_the_blend_is_learnt() -> None:
    points = known().train
    seen = np.arange(points.n_points) % 3 > 0
    near = WordIndex.build(points.X, np.ones(points.n_points, dtype=bool)).search_own(points.X, 20)
    ids, cosines = Fitting(points, near, Run(seed=1, threads=1)).near_among(seen)
    assert (ids >= 0).any()
    assert seen[ids[ids >= 0]].all()
    assert not cosines[ids < 0].any()


@pytest.mark.parametrize(("words", "trials", "tried"), [(4, "true", 1), (4, "false", 0), (5, "true", 0)])
def test_only_of_short_documents_a_cost_is_tried(
    words: int, trials: str, tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr("zipfel.evidence.setting._LONG", 5)
    monkeypatch.setattr("zipfel.methods.auto_parts.choose_cost", lambda *_, **__: asked.append("cost") or 1.0)
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(np.array([rng.permutation(np.arange(100) < words) for _ in range(60)]).astype(np.float32))
    Y = sp.csr_matrix(np.eye(6, dtype=np.float32)[np.arange(60) % 6])
    method = make_method("auto", {"trials": trials, "codes": "false"})
    method.fit(Points(X, Y), None, Run(seed=1))
    assert asked == ["cost"] * tried
    assert (method.damping_, method.cost_) == {(4, 1): (0.6, 1.0), (4, 0): (0.6, 0.3), (5, 0): (1.0, 1.0)}[words, tried]


def test_documents_that_share_nothing_make_a_model_all_the_same() -> None:
    points = Points(sp.csr_matrix(np.eye(3, dtype=np.float32)), sp.csr_matrix(np.eye(3, dtype=np.float32)))
    method = make_method("auto", {"codes": False})
    method.fit(points, None, Run(seed=1, threads=1))
    again = make_method("auto", {"codes": False})
    again.restore(round_trip(method.state()), 3, 3)
    assert again.predict(points.X, 1).labels[:, 0].tolist() == [0, 1, 2]


def _run_alone(code: str) -> None:
    """In a process of its own, which no other test has loaded anything into."""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_torch_is_not_loaded() -> None:
    """It takes a second, and auto has no use for it up to 50,000 labels."""
    code = (
        "import sys; from tests.contract import QUICK, known; from zipfel.methods import make_method; "
        "from zipfel.run import Run; method = make_method('auto', QUICK['auto']); "
        "method.fit(known().train, None, Run(seed=1, threads=2)); method.predict(known().test.X, 3); "
        "sys.exit('torch' in sys.modules)"
    )
    _run_alone(code)


def test_what_fewer_points_left_is_let_go_of_before_all_are_learnt_from() -> None:
    """Loading torch leaves frames that would keep it."""
    code = (
        "import gc, weakref; from tests.contract import QUICK, known; from zipfel.methods import make_method\n"
        "from zipfel.neighbors.space import Memory; from zipfel.run import Run\n"
        "found, old = [], Memory.__init__\n"
        "def init(self, *args, **params): old(self, *args, **params); found.append(weakref.ref(self))\n"
        "Memory.__init__ = init; gc.collect(); gc.disable()\n"
        "asked = {'regression.most_labels': 0, 'matcher.dim': 8, 'matcher.epochs': 1}\n"
        "method = make_method('auto', {**QUICK['auto'], **asked}); method.fit(known().train, None, Run(threads=2))\n"
        "assert [memory() is None for memory in found] == [True, False], found"
    )
    _run_alone(code)


@pytest.mark.parametrize("rest", [5, -1e9])
def test_a_short_time_budget_leaves_codes_out(rest: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "_REST", rest)
    points, method, again = known(), make_method("auto", {}), make_method("auto", {})
    method.fit(points.train, points.valid, Run(seed=1, threads=1, time_budget=1e-3))
    assert isinstance(method, Auto)
    assert bool(method.spaces_) == (rest < 0)
    assert method.further_.tree is None or rest < 0
    again.restore(method.state(), points.train.n_features, points.train.n_labels)
    before, after = (one.predict(points.train.X, 3) for one in (method, again))
    np.testing.assert_array_equal(before.labels, after.labels)  # whether or not parts have seen all points
    method.fit(points.train, points.valid, Run(seed=1, threads=1, time_budget=1e6))
    assert method.spaces_ != []


@pytest.mark.parametrize(("n", "bonus"), [(10, 0.0), (200, 0.1), (300, 0.2), (600, 0.4), (5000, 0.4)])
def test_few_points_prove_no_large_bonus(n: int, bonus: float) -> None:
    labels, scores = np.zeros((n, 1), dtype=np.int64), np.zeros((n, 1), dtype=np.float32)  # a bonus costs nothing here
    assert largest_bonus(labels, scores, np.ones(1), np.ones((n, 1), dtype=bool)) == bonus <= max(TAILS)


@pytest.mark.parametrize(
    ("n_points", "tells", "kept"), [(100, False, True), (50_000, False, False), (50_000, True, True)]
)
def test_a_forest_of_many_points_has_to_pay(n_points: int, tells: bool, kept: bool) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(20)[None].repeat(300, axis=0)
    hits = rng.random(labels.shape) < 0.2
    votes = hits + rng.normal(size=hits.shape)
    forest = (hits if tells else 0) + rng.normal(size=hits.shape)
    evidence = np.stack([votes, forest, np.exp(forest)], axis=2).astype(np.float32)
    held = HeldOut(["votes", *Forest.OPINIONS], labels, evidence, sp.csr_matrix(hits), np.ones(20), n_points)
    judge, _ = learn_judge(held, None, 0.2, products=True)
    assert judge.names == ("votes", *(Forest.OPINIONS if kept else ()))


def test_a_forest_that_does_not_pay_is_dropped_from_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfel.methods.auto_judge.DEAR", 0)
    monkeypatch.setattr("zipfel.methods.auto_judge._WORTH", 1.0)
    points = known()
    method, again = Auto(AutoConfig.from_dict(QUICK["auto"])), Auto(AutoConfig.from_dict(QUICK["auto"]))
    method.fit(points.train, points.valid, Run(seed=1, threads=1))
    assert method.further_.forest is None
    assert "forest" not in method.evidence_names
    again.restore(method.state(), points.train.n_features, points.train.n_labels)
    found = method.predict(points.test.X, 3)
    np.testing.assert_array_equal(found.scores, again.predict(points.test.X, 3).scores)


def test_many_long_documents_have_conjunctions_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfel.methods.auto_parts._FEW_LONG", 100)
    monkeypatch.setattr("zipfel.methods.auto_parts._FEW_FEATURES", 399)
    monkeypatch.setattr("zipfel.methods.auto_parts._CONJOINED", 12)
    monkeypatch.setattr("zipfel.evidence.setting._LONG", 5)
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix((rng.random((300, 12)) < 0.15).astype(np.float32))
    X = sp.csr_matrix(Y @ (rng.random((12, 400)) < 0.05) + (rng.random((300, 400)) < 0.02), dtype=np.float32)
    train, run = Points(unit_csr(X), Y), Run(seed=0)
    method = Auto(AutoConfig())
    method.fit(train, None, run)
    assert method.further_.conjunctions is not None
    assert "conjunctions: trust" in method.evidence_names
    again = Auto(AutoConfig())
    again.restore(method.state(), 400, 12)
    np.testing.assert_array_equal(again.predict(train.X, 5).scores, method.predict(train.X, 5).scores)
    reasons = method.explain(train.X[3], [0, 1])
    assert {"conjunctions", "forest"} <= reasons.evidence[0].keys()
    new = sp.csr_matrix(np.tile(np.arange(400) < 9, (6, 1)).astype(np.float32))  # documents unlike the others
    method.partial_fit(Points(unit_csr(new), sp.csr_matrix((np.ones(6), (range(6), [12] * 6)), shape=(6, 13))))
    assert method.predict(unit_csr(new[:1]), 1).labels.tolist() == [[12]]
    without = Auto(AutoConfig(conjunctions=False))
    without.fit(train, None, Run(seed=0))
    assert without.further_.conjunctions is None
    monkeypatch.setattr("zipfel.methods.auto_parts._CONJOINED", 13)  # too few labels
    method.fit(train, None, Run(seed=0))
    assert method.further_.conjunctions is None


def test_dense_features_have_no_tree() -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.random((120, 30)), dtype=np.float32)
    Y = sp.csr_matrix((rng.random((120, 8)) < 0.3).astype(np.float32))
    for rows, grown in ((X, False), (sp.csr_matrix(np.where(X.toarray() < 0.05, 1, 0), dtype=np.float32), True)):
        method = Auto(AutoConfig())
        method.fit(Points(unit_csr(rows), Y), None, Run(seed=1))
        assert (method.further_.tree is not None) == grown


def test_a_validation_set_without_points_is_none() -> None:
    train = known().train
    method = Auto(AutoConfig.from_dict(QUICK["auto"]))
    method.fit(train, train.take(np.arange(0)), Run(seed=1, threads=1))
    np.testing.assert_array_equal(method.predict(train.X, 3).labels, _fitted().predict(train.X, 3).labels)


def test_no_more_neighbours_are_looked_for_than_there_are_points() -> None:
    """However many the config, or a model file, asks for: there would be room for all of them."""
    train, params = known().train, {"codes": False, "forest": False}
    method, again, same = (Auto(AutoConfig(**params, neighbors=n)) for n in (10**12, 10**12, train.n_points))
    for each in (method, same):
        each.fit(train, None, Run(seed=1, threads=1))
    again.restore(round_trip(method.state()), train.n_features, train.n_labels)
    assert again.neighbors_ == 10**12
    for each in (again, same):
        np.testing.assert_array_equal(each.predict(train.X, 3).scores, method.predict(train.X, 3).scores)
