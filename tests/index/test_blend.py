"""Sources of neighbours that vote together."""

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.blend import Blend, JointNeighbors, simplex
from zipfel.index.choice import VoteRule

BALLOTS = sp.csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=np.float32))
AXES = np.eye(4, dtype=np.float32)


def neighbourhood() -> JointNeighbors:
    """Voters 0 and 1 are one source, 2 and 3 another, each on an axis of its own."""
    return JointNeighbors({"a": (np.array([0, 1]), AXES[:2]), "b": (np.array([2, 3]), AXES[2:])}, BALLOTS)


def blend(weight: float, rarity: float = 0.0) -> Blend:
    rules = {"a": VoteRule(1, 10.0), "b": VoteRule(1, 10.0)}
    return Blend(rules, {"a": weight, "b": 1 - weight}, rarity)


def test_votes_of_both_sources_are_added_by_weight() -> None:
    query = np.array([[0.1, 1, 1, 0]], dtype=np.float32)  # nearest: voter 1 (label 1), voter 2 (labels 1 and 2)
    ranking = neighbourhood().rank(query, blend(0.25), 3)
    assert ranking.labels.tolist() == [[1, 2, -1]]
    np.testing.assert_allclose(ranking.scores[0, :2], [1.0, 0.75], rtol=1e-6)


def test_rarity_favours_the_label_with_fewer_ballots() -> None:
    query = np.array([[1, 0, 1, 0]], dtype=np.float32)  # voter 0 (label 0, once), voter 2 (labels 1 and 2, twice each)
    assert neighbourhood().rank(query, blend(0.45), 1).labels[0, 0] == 1
    assert neighbourhood().rank(query, blend(0.45, rarity=1.0), 1).labels[0, 0] == 0


def test_the_choice_finds_the_source_that_knows() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    Y = sp.csr_matrix(np.eye(3, dtype=np.float32)[truth])
    axes = AXES[:3, :3]
    good = (axes[truth] + 0.1 * rng.standard_normal((60, 3))).astype(np.float32)
    noise = rng.standard_normal((60, 3)).astype(np.float32)
    found = JointNeighbors({"good": (np.arange(60), good), "noise": (np.arange(60), noise)}, Y)
    queries = (axes[truth] + 0.1 * rng.standard_normal((60, 3))).astype(np.float32)
    chosen, quality = found.choose(queries, Y, n_neighbors=(5,))
    assert chosen.weights.get("good", 0) >= 0.5
    assert quality == pytest.approx((1 + 1 / 3 + 1 / 5) / 3)


def test_a_source_in_reserve_joins_only_where_it_gains_more_than_chance() -> None:
    Y = sp.csr_matrix(np.eye(4, dtype=np.float32))
    codes = {"wrong": (np.arange(4), AXES[[1, 0, 3, 2]]), "right": (np.arange(4), AXES)}
    found = JointNeighbors(codes, Y)
    for chance, source in ((0.0, "right"), (1.0, "wrong")):
        chosen, _ = found.choose(AXES, Y, n_neighbors=(1,), sharpness=(1.0,), reserve=("right",), chance=chance)
        assert list(chosen.rules) == [source]


@pytest.mark.parametrize(("spare", "rarity"), [(0.0, 0.0), (0.05, 0.1), (1.0, 0.3)])
def test_rarity_may_cost_what_can_be_spared(spare: float, rarity: float) -> None:
    found, quality = neighbourhood(), {0.0: 0.9, 0.1: 0.86, 0.3: 0.5}
    blends = [blend(1.0, rarity=r) for r in quality]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zipfel.index.blend.mean_precision", lambda *_: next(values))
        values = iter(quality.values())
        patch.setattr(Blend, "__call__", lambda *_: None)
        assert found._best(blends, {}, BALLOTS, spare)[0].rarity == rarity


def test_idle_sources_are_left_out_and_facts_read_back() -> None:
    one = blend(1.0, rarity=0.2).without_idle()
    assert list(one.rules) == ["a"]
    assert Blend.from_facts(one.facts()) == one


def test_state_round_trip_and_many_queries() -> None:
    queries = np.random.default_rng(1).standard_normal((5000, 4)).astype(np.float32)
    found = neighbourhood()
    again = JointNeighbors.restored(*found.state(), BALLOTS, dim=4)
    one, other = found.rank(queries, blend(0.5), 2), again.rank(queries, blend(0.5), 2)
    np.testing.assert_array_equal(one.labels, other.labels)
    assert one.labels.shape == (5000, 2)


def test_an_index_that_does_not_fit_is_refused() -> None:
    arrays, facts = neighbourhood().state()
    far = np.array([*arrays["a.ids"][:-1], 10**9])  # rising still, but behind the ballots' end
    for attack in ({"a.ids": far}, {"a.ids": arrays["a.ids"] - 10**6}, {"a.vectors": arrays["a.vectors"][:, :-1]}):
        with pytest.raises(ModelFileError):
            JointNeighbors.restored({**arrays, **attack}, facts, BALLOTS, dim=4)


@pytest.mark.parametrize("values", [[0, 1.0, 1.0], [5, float("nan"), 1.0], [5, 1.0, float("inf")]])
def test_damaged_rules_are_refused(values: list[float]) -> None:
    with pytest.raises(ModelFileError):
        Blend.from_facts({"rules": {"a": values}, "rarity": 0.0})


def test_simplex_sums_to_one() -> None:
    weights = simplex(3)
    assert len(weights) == 15
    assert all(sum(found) == pytest.approx(1) for found in weights)
