"""MNN where most labels are rare: when it is so, what counts then, and what is kept."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import known
from tests.methods.test_mnn import make
from zipfel.errors import ModelFileError
from zipfel.evidence.blend import Blend
from zipfel.index.sparse import unit_csr
from zipfel.methods import Points
from zipfel.methods.base import State
from zipfel.methods.mnn_tail import BONUSES, Tail, has_tail, strangers_held_out
from zipfel.metrics import Propensity
from zipfel.ranking import Ranking
from zipfel.run import Run


def with_counts(counts: list[int]) -> sp.csr_matrix:
    """Label l in counts[l] rows of its own."""
    labels = np.repeat(np.arange(len(counts)), counts)
    return sp.csr_matrix((np.ones(len(labels), np.float32), (np.arange(len(labels)), labels)))


@pytest.mark.parametrize(
    ("counts", "tail"),
    [([5] * 501 + [6] * 499, True), ([5] * 500 + [6] * 500, False), ([5] * 999, False), ([0] * 9 + [1] * 1000, True)],
)
def test_a_tail_is_many_labels_most_of_which_are_rare(counts: list[int], tail: bool) -> None:
    assert has_tail(with_counts(counts)) == tail


def test_nothing_nearly_the_same_as_a_held_out_row_stays_in_the_rest() -> None:
    rng = np.random.default_rng(0)
    rows = (rng.random((60, 200)) < 0.1).astype(np.float32)
    X = unit_csr(sp.csr_matrix(np.vstack([rows, rows])))  # every row has a twin sixty rows on
    rest, held = strangers_held_out(Points(X, with_counts([120])), 0.2, np.random.default_rng(1))
    assert held.n_points == 24
    assert (rest.X @ held.X.T).max() < 0.6
    assert rest.n_points >= 120 - 2 * 24


def _two_labels(bonus: float) -> tuple[Tail, sp.csr_matrix, Ranking]:
    """Label 0 has two points, label 1 one; votes say 0, words both alike."""
    X = sp.csr_matrix(np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0]], dtype=np.float32))
    Y = sp.csr_matrix(np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32))
    blend = Blend(("votes", "words", "frequency"), (1.0, 2.0, 0.5), 0.0)
    votes = Ranking(np.array([[0, 1, -1]]), np.array([[0.6, 0.4, -np.inf]], dtype=np.float32))
    return Tail.of(Points(X, Y), blend, bonus), sp.csr_matrix(np.array([[3.0, 4.0, 0.0]], dtype=np.float32)), votes


def test_the_score_is_what_the_module_says() -> None:
    tail, x, votes = _two_labels(0.7)
    mean = np.array([2**-0.5 + 1, 0, 2**-0.5])
    cosines = np.array([0.6 * mean[0] / np.linalg.norm(mean), 0.8])
    wanted = np.log(np.array([0.6, 0.4]) + 1e-3) + 2 * np.log(cosines + 0.05) + 0.5 * np.log1p([2, 1])
    wanted += 0.7 * np.log(Propensity().inverse(np.array([2, 1]), 3))
    found = tail.rank(x, votes, 3)
    order = np.argsort(-wanted)
    assert found.labels.tolist() == [[*order.tolist(), -1]]
    np.testing.assert_allclose(found.scores[0, :2], wanted[order], atol=0.02)  # centroids are kept in bytes


def test_a_bonus_brings_rare_labels_forward() -> None:
    counts = [50] * 10 + [2] * 40
    rng = np.random.default_rng(0)
    Y = with_counts(counts)
    X = unit_csr(sp.csr_matrix(Y @ np.eye(50, dtype=np.float32) + (rng.random((580, 50)) < 0.02)))
    points = Points(X, Y)
    votes = Ranking(np.tile(np.arange(50), (580, 1)), rng.random((580, 50)).astype(np.float32))
    chosen = Tail.learn(points, points, votes, None)
    assert chosen.blend.weights[1] > 0  # words tell the truth here
    asked = Tail.learn(points, points, votes, 3.0)
    assert asked.bonus == 3.0
    rare = [
        float((tail.rank(X, votes, 1).labels >= 10).mean()) for tail in (Tail.learn(points, points, votes, 0.0), asked)
    ]
    assert rare[1] > rare[0]


@pytest.mark.parametrize(("qualities", "bonus"), [([1.0, 1.1, 1.2], 0.4), ([1.0, 1.2, 1.1], 0.2), ([1, 1, 1], 0.0)])
def test_the_bonus_is_that_with_the_best_product(
    qualities: list[float], bonus: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, x, votes = _two_labels(0.0)
    held = Points(x, sp.csr_matrix(np.array([[1, 0]], dtype=np.float32)))
    given = iter([*qualities, *[0.9] * (len(BONUSES) - len(qualities))])
    monkeypatch.setattr(Tail, "_quality", lambda *_: next(given))
    assert Tail.learn(held, held, votes, None).bonus == bonus


def test_few_rows_go_for_being_alike() -> None:
    X = unit_csr(sp.csr_matrix(np.ones((100, 3), dtype=np.float32)))  # all are the same
    rest, held = strangers_held_out(Points(X, with_counts([100])), 0.2, np.random.default_rng(1))
    assert (rest.n_points, held.n_points) == (60, 20)


def test_it_is_saved_and_damage_is_told() -> None:
    data = known()
    method, again = make(tail=True), make(tail=True)
    method.fit(data.train, data.valid, Run(seed=1, threads=1))
    assert method.tail_ is not None
    state = method.state()
    again.restore(state, data.train.n_features, data.train.n_labels)
    one, other = (m.predict(data.test.X, 3) for m in (method, again))
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.scores, other.scores)
    single = method.predict(data.test.X[3], 3)
    np.testing.assert_array_equal(single.labels[0], one.labels[3])
    bare = State({key: array for key, array in state.arrays.items() if not key.startswith("tail.")}, state.facts)
    with pytest.raises(ModelFileError):  # what is left of it is not passed over
        make(tail=True).restore(bare, data.train.n_features, data.train.n_labels)
    for facts in (
        {},
        {"tail": 3},
        {"tail": {"blend": None, "bonus": 1.0}},
        {"tail": {**state.facts["tail"], "bonus": "much"}},
    ):
        kept = {key: value for key, value in state.facts.items() if key != "tail"} | facts
        with pytest.raises(ModelFileError):
            make(tail=True).restore(State(state.arrays, kept), data.train.n_features, data.train.n_labels)


def test_without_a_tail_there_is_none() -> None:
    data = known()
    method = make()
    method.fit(data.train, data.valid, Run(seed=1, threads=1))
    assert method.tail_ is None
    assert not method.state().part("tail")
