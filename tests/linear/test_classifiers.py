"""The sparse ranker against plain numpy: its optimum, its scores, its rounding, its saved form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.linear import LinearClassifiers, LinearConfig, Problems
from zipfel.linear._scorer import WeightsByFeature
from zipfel.linear.problems import label_runs
from zipfel.system.threads import use_threads

EXACT = LinearConfig(cost=1.0, tolerance=1e-5, iterations=2000, threshold=0.0, precision="float32", damping=1.0)


def _points(n: int = 120, d: int = 30, labels: int = 9, seed: int = 0) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Rows whose labels depend on their features, so that there is something to learn."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, 0.3, format="csr", dtype=np.float32, random_state=rng)
    scores = X @ rng.standard_normal((d, labels))
    Y = sp.csr_matrix((scores > np.quantile(scores, 0.75, axis=0)).astype(np.float32))
    return X, Y


def _everywhere(Y: sp.csr_matrix) -> np.ndarray:
    return np.tile(np.arange(Y.shape[1]), (Y.shape[0], 1))


def _primal(X: sp.csr_matrix, y: np.ndarray, w: np.ndarray, bias: float, config: LinearConfig) -> float:
    """The objective that the solver lowers, written out."""
    margins = y * (X @ w + bias)
    loss = np.maximum(0, 1 - margins) ** 2 if config.loss == "squared_hinge" else np.logaddexp(0, -margins)
    cost = np.where(y > 0, config.cost * config.positive_cost, config.cost)
    return float(0.5 * (w @ w + bias * bias) + (cost * loss).sum())


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("positive_cost", [1.0, 3.0])
def test_reaches_the_optimum_of_the_primal_problem(loss: str, positive_cost: float) -> None:
    from scipy.optimize import minimize

    X, Y = _points()
    config = EXACT.replace(loss=loss, positive_cost=positive_cost)
    ranker = LinearClassifiers(config).fit(X, Problems.build(Y, _everywhere(Y)))
    for label in (0, 4):
        y = np.where(Y[:, [label]].toarray().ravel() > 0, 1.0, -1.0)
        best = minimize(
            lambda v, y=y: _primal(X, y, v[:-1], v[-1], config), np.zeros(X.shape[1] + 1), method="L-BFGS-B"
        ).fun
        got = _primal(X, y, ranker.weights_[[label]].toarray().ravel(), float(ranker.bias_[label]), config)
        assert got == pytest.approx(best, rel=2e-3)


def test_where_passes_gain_little_it_stops_near_the_optimum() -> None:
    X, Y = _points(n=400)
    problems = [Problems.build(Y, _everywhere(Y)) for _ in range(2)]
    usual = EXACT.replace(tolerance=LinearConfig().tolerance, iterations=LinearConfig().iterations)
    exact, found = (LinearClassifiers(c).fit(X, p) for c, p in zip((EXACT, usual), problems, strict=True))
    assert np.abs(problems[0].dual - problems[1].dual).max() > 1e-3  # it did stop before
    for label in range(Y.shape[1]):
        y = np.where(Y[:, [label]].toarray().ravel() > 0, 1.0, -1.0)
        best, reached = (
            _primal(X, y, r.weights_[[label]].toarray().ravel(), float(r.bias_[label]), EXACT) for r in (exact, found)
        )
        assert best <= reached * (1 + 1e-6)
        assert reached < 1.05 * best


def test_learns_only_from_positives_and_shortlisted_documents() -> None:
    Y = sp.csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0]], dtype=np.float32))
    shortlist = np.array([[0, 1], [1, -1], [2, 0], [1, 0]])
    problems = Problems.build(Y, shortlist)
    lists = [problems.docs[a:b].tolist() for a, b in zip(problems.ptr[:-1], problems.ptr[1:], strict=True)]
    assert lists == [[0, 2, 3], [1, 2, 0, 3], [2]]
    assert problems.n_positive.tolist() == [2, 2, 0]


def test_a_label_without_positives_says_no() -> None:
    X, Y = _points()
    Y = sp.csr_matrix(sp.hstack([Y, sp.csr_matrix((Y.shape[0], 1), dtype=np.float32)]))
    ranker = LinearClassifiers(EXACT).fit(X, Problems.build(Y, _everywhere(Y)))
    assert ranker.score(X[:3], np.full((3, 1), Y.shape[1] - 1)).ravel().tolist() == [-1, -1, -1]


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_scores_equal_the_plain_product(precision: str) -> None:
    X, Y = _points(d=300)
    ranker = LinearClassifiers(EXACT.replace(precision=precision)).fit(X, Problems.build(Y, _everywhere(Y)))
    few_words = sp.csr_matrix(X[:40].multiply(np.arange(300) % 29 == 0))  # takes the way of the binary search
    for rows in (X[:40], sp.csr_matrix(few_words), sp.csr_matrix((2, 300), dtype=np.float32)):
        labels = np.random.default_rng(1).integers(-1, Y.shape[1], (rows.shape[0], 5))
        plain = np.take_along_axis(rows @ ranker.weights_.toarray().T + ranker.bias_, np.maximum(labels, 0), 1)
        np.testing.assert_allclose(ranker.score(rows, labels), np.where(labels < 0, -np.inf, plain), atol=1e-4)


def test_damped_rows_are_of_unit_length() -> None:
    X, Y = _points()
    damped = sp.csr_matrix(X.power(0.5))
    damped = sp.csr_matrix(sp.diags(1 / np.sqrt(np.asarray(damped.multiply(damped).sum(axis=1)).ravel())) @ damped)
    problems = Problems.build(Y, _everywhere(Y))
    asked = LinearClassifiers(EXACT.replace(damping=0.5)).fit(X, problems).score(X, _everywhere(Y))
    plain = LinearClassifiers(EXACT).fit(damped.astype(np.float32), Problems.build(Y, _everywhere(Y)))
    np.testing.assert_allclose(asked, plain.score(damped.astype(np.float32), _everywhere(Y)), atol=1e-3)


def test_int8_stays_near_float32() -> None:
    X, Y = _points()
    problems = Problems.build(Y, _everywhere(Y))
    exact = LinearClassifiers(EXACT).fit(X, problems).score(X, _everywhere(Y))
    rounded = LinearClassifiers(EXACT.replace(precision="int8")).fit(X, problems).score(X, _everywhere(Y))
    assert np.abs(exact - rounded).max() < 0.1
    assert np.abs(exact - rounded).max() > 0


def test_threads_do_not_change_the_weights() -> None:
    X, Y = _points()
    found = []
    for threads in (1, 2):
        with use_threads(threads):
            found.append(LinearClassifiers().fit(X, Problems.build(Y, _everywhere(Y)), seed=3))
    np.testing.assert_array_equal(found[0].weights_.toarray(), found[1].weights_.toarray())


def test_a_warm_start_needs_fewer_passes() -> None:
    X, Y = _points()
    problems = Problems.build(Y, _everywhere(Y))
    LinearClassifiers(EXACT).fit(X, problems)
    one_pass = EXACT.replace(iterations=1)
    cold = LinearClassifiers(one_pass).fit(X, Problems.build(Y, _everywhere(Y)))
    warm = LinearClassifiers(one_pass).fit(X, problems)
    y = np.where(Y[:, [0]].toarray().ravel() > 0, 1.0, -1.0)
    value = [_primal(X, y, r.weights_[[0]].toarray().ravel(), float(r.bias_[0]), EXACT) for r in (cold, warm)]
    assert value[1] < value[0]


def test_threshold_prunes_small_weights() -> None:
    X, Y = _points()
    ranker = LinearClassifiers(EXACT.replace(threshold=0.2)).fit(X, Problems.build(Y, _everywhere(Y)))
    assert 0 < ranker.weights_.nnz < X.shape[1] * Y.shape[1]
    assert np.abs(ranker.weights_.data).min() > 0.2


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_saved_and_restored_it_answers_the_same(precision: str) -> None:
    X, Y = _points()
    config = LinearConfig(precision=precision)
    ranker = LinearClassifiers(config).fit(X, Problems.build(Y, _everywhere(Y)))
    again = LinearClassifiers.restored(ranker.state(), X.shape[1], Y.shape[1], config)
    np.testing.assert_array_equal(ranker.score(X, _everywhere(Y)), again.score(X, _everywhere(Y)))


@pytest.mark.parametrize("harm", ["features", "indptr", "missing", "nan"])
def test_damaged_state_is_refused(harm: str) -> None:
    X, Y = _points()
    state = LinearClassifiers(LinearConfig(precision="float32")).fit(X, Problems.build(Y, _everywhere(Y))).state()
    state = {name: array.copy() for name, array in state.items()}
    if harm == "missing":
        del state["bias"]
    elif harm == "nan":
        state["weights"][0] = np.nan
    else:
        state[harm][-1] += 1000
    with pytest.raises(ModelFileError):
        LinearClassifiers.restored(state, X.shape[1], Y.shape[1])


def test_dual_variables_are_taken_over_by_document_and_label() -> None:
    X, Y = _points()
    seen = np.flatnonzero(np.arange(X.shape[0]) % 5)
    before = Problems.build(Y[seen], _everywhere(Y[seen]))
    LinearClassifiers(EXACT).fit(X[seen], before)
    after = Problems.build(Y, _everywhere(Y))
    after.start_from(before, seen)
    for label in (0, 5):
        old, new = (slice(p.ptr[label], p.ptr[label + 1]) for p in (before, after))
        known = dict(zip(seen[before.docs[old]].tolist(), before.dual[old].tolist(), strict=True))
        expected = [known.get(doc, 0.0) for doc in after.docs[new].tolist()]
        assert any(expected)
        np.testing.assert_array_equal(after.dual[new], expected)


def test_logistic_classifiers_learn_at_the_default_tolerance() -> None:
    X, Y = _points()
    ranker = LinearClassifiers(LinearConfig(loss="logistic", cost=1.0, precision="float32")).fit(
        X, Problems.build(Y, _everywhere(Y))
    )
    margins = ranker.score(X, _everywhere(Y))
    truth = Y.toarray() > 0
    assert margins[truth].mean() - margins[~truth].mean() > 1


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_by_feature_or_by_label_the_scores_are_the_same(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = _points(d=60, labels=40)  # some features are frequent: more than five labels have a weight for them
    ranker = LinearClassifiers(EXACT.replace(threshold=0.9, precision=precision)).fit(
        X, Problems.build(Y, _everywhere(Y))
    )
    frequent = WeightsByFeature.are_frequent(np.bincount(ranker.weights_.indices, minlength=60), 40)
    assert 0 < frequent.sum() < 60
    labels = _everywhere(Y)
    labels[::3, 1] = -1
    labels[:, 2] = labels[:, 3]  # asked twice
    scores = []
    for cheaper in (False, True):
        monkeypatch.setattr(ranker, "_is_cheaper_by_feature", lambda *_, cheaper=cheaper: cheaper)
        scores.append(ranker.score(X, labels))
    assert np.isneginf(scores[1][::3, 1]).all()
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5, atol=1e-5)


def test_few_labels_of_many_weights_are_scored_by_feature() -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_matrix((rng.random((60, 400)) < 0.2).astype(np.float32))
    Y = sp.csr_matrix((rng.random((60, 4)) < 0.5).astype(np.float32))
    ranker = LinearClassifiers(EXACT).fit(X, Problems.build(Y, _everywhere(Y)))
    word, labels = X[0].indices[:1], _everywhere(Y)[:1]
    assert ranker._is_cheaper_by_feature(word, labels)
    assert not ranker._is_cheaper_by_feature(np.arange(400), labels)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_runs_of_labels_one_after_another_give_the_same(precision: str) -> None:
    X, Y = _points(n=400, labels=40)
    shortlist = np.random.default_rng(1).integers(-1, 40, (400, 6))
    shortlist = np.array([[*dict.fromkeys(row), *[-1] * 6][:6] for row in shortlist.tolist()])
    runs = label_runs(Y, 400 * 6 + Y.nnz, 1000)
    assert len(runs) > 3
    assert runs[0][0] == 0
    assert runs[-1][1] == 40
    assert all(a[1] == b[0] for a, b in itertools.pairwise(runs))
    parts = list(Problems.built_in_runs(Y.indptr, Y.indices, shortlist, runs))
    assert max(len(part.docs) for part in parts) < 2000
    config, whole = LinearConfig(precision=precision), Problems.build(Y, shortlist)
    together, apart = (LinearClassifiers(config).fit(X, problems, seed=3) for problems in (whole, parts))
    for name, array in together.state().items():
        np.testing.assert_array_equal(array, apart.state()[name], err_msg=name)
    kept = [part.without_zeros() for part in parts]
    np.testing.assert_array_equal(np.concatenate([part.dual for part in parts]), whole.dual)
    again = next(Problems.built_in_runs(Y.indptr, Y.indices, shortlist, runs[1:2]))
    again.start_from(kept[1])
    np.testing.assert_array_equal(again.dual, parts[1].dual)


def test_few_documents_are_one_run_of_labels() -> None:
    assert label_runs(_points(labels=40)[1], 1000) == [(0, 40)]


def test_weights_by_feature_are_those_by_label() -> None:
    rng = np.random.default_rng(0)
    dense = sp.random(50, 30, 0.1, random_state=rng).toarray()
    dense[:, :2] = 0.03  # frequent
    weights = sp.csr_matrix(np.ceil(100 * dense).astype(np.int8))
    scale = np.ones(50, dtype=np.float32)
    found = WeightsByFeature.build(weights, scale)
    (indptr, labels, values), plain = found.lists, weights.tocsc()
    assert 2 <= found.table.shape[1] < 30
    for feature in range(30):
        if found.place[feature] >= 0:
            np.testing.assert_array_equal(found.table[:, found.place[feature]], plain[:, [feature]].toarray().ravel())
            assert indptr[feature] == indptr[feature + 1]
        else:
            own, its = slice(*indptr[feature : feature + 2]), slice(*plain.indptr[feature : feature + 2])
            np.testing.assert_array_equal(labels[own], plain.indices[its])
            np.testing.assert_array_equal(values[own], plain.data[its])
