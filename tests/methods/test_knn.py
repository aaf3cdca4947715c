from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import fit, known, round_trip
from tests.methods.conftest import Loader
from zipfel.errors import ModelFileError
from zipfel.methods import Points, State, make_method
from zipfel.metrics import evaluate

X = sp.csr_matrix(np.array([[1, 0], [1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32))
Y = sp.csr_matrix(np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32))
PLAIN = {"n_neighbors": 3, "sharpness": 1, "rarity": 0}


def test_votes_by_hand() -> None:
    ranking = fit("knn", Points(X, Y), params=PLAIN).predict(X[2], 3)
    # Neighbours of row 2: itself (cos 1), rows 0 and 1 (cos 0.8); row 3 (cos 0.6) is the fourth.
    np.testing.assert_array_equal(ranking.labels, [[0, 1, -1]])
    np.testing.assert_allclose(ranking.scores[0, :2], [1.6 / 2.6, 1 / 2.6], rtol=1e-6)


def test_sharpness_listens_to_the_nearest_and_rarity_to_rare_labels() -> None:
    sharp = fit("knn", Points(X, Y), params={**PLAIN, "sharpness": 8}).predict(X[2], 2)
    assert sharp.labels[0, 0] == 1  # 1 against 2 * 0.8^8
    rare = fit("knn", Points(X, Y), params={**PLAIN, "rarity": 1}).predict(X[2], 2)
    np.testing.assert_array_equal(rare.labels, [[0, 1]])
    np.testing.assert_allclose(rare.scores[0], [1.6 / 2.6 * 2 / 3, 1 / 2.6], rtol=1e-6)  # (1 + 2) / (1 + 1) as rare


def test_a_point_is_not_its_own_neighbour_when_choices_are_made() -> None:
    # The labels are noise: asking many is right, and only a point that finds itself would think otherwise.
    rng = np.random.default_rng(0)
    rows = sp.csr_matrix(np.abs(rng.normal(size=(200, 5))).astype(np.float32))
    labels = np.zeros((200, 2), dtype=np.float32)
    labels[np.arange(200), (rng.random(200) < 0.3).astype(int)] = 1
    method = fit("knn", Points(rows, sp.csr_matrix(labels)))
    assert method.state().facts["n_neighbors"] > 10
    assert method.state().facts["sharpness"] < 8


def test_more_neighbours_than_points_are_all_of_them() -> None:
    few, all_of_them = (fit("knn", Points(X, Y), params={**PLAIN, "n_neighbors": n}).predict(X, 3) for n in (4, 10**12))
    np.testing.assert_array_equal(few.scores, all_of_them.scores)


def test_half_precision_is_smaller_and_survives_saving() -> None:
    train, test = known().train, known().test
    whole, half = fit("knn", train), fit("knn", train, params={"precision": "float16"})
    assert half.state().arrays["X.data"].nbytes * 2 == whole.state().arrays["X.data"].nbytes
    again = make_method("knn", half.config.to_dict())
    again.restore(round_trip(half.state()), train.n_features, train.n_labels)
    np.testing.assert_array_equal(again.predict(test.X, 3).scores, half.predict(test.X, 3).scores)


def test_damaged_facts_are_refused() -> None:
    state = fit("knn", Points(X, Y), params=PLAIN).state()
    for facts in (
        {},
        {**state.facts, "n_neighbors": None},
        {**state.facts, "n_points": 99},
        {**state.facts, "n_neighbors": -1},
    ):
        with pytest.raises(ModelFileError):
            make_method("knn").restore(State(state.arrays, facts), 2, 3)


@pytest.mark.shared
@pytest.mark.parametrize(("name", "floor"), [("bibtex", 0.63), ("delicious", 0.645)])
def test_floor_on_real_data(real: Loader, name: str, floor: float) -> None:
    train, test = real(name, "tfidf")
    ranking = fit("knn", train).predict(test.X, 5)
    assert evaluate(ranking, test.Y, ks=(1,))["P@1"] >= floor
