"""Explanations add up: words, voters and kinds of evidence to the score that `predict` gives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import N_FEATURES, fitted, known
from zipfel.evidence.contributions import explain_linear, shared_parts, strongest_voters, values_at, without_zeros
from zipfel.explanation import Voter

MATRIX = sp.csr_matrix(np.array([[0, 2, 0, 3], [0, 0, 0, 0], [1, 0, 5, 0]], dtype=np.float32))


def test_values_of_a_row_in_given_columns() -> None:
    assert values_at(MATRIX, 0, np.array([0, 1, 3])).tolist() == [0, 2, 3]
    assert values_at(MATRIX, 1, np.array([0, 1, 3])).tolist() == [0, 0, 0]
    assert values_at(MATRIX, 2, np.array([3])).tolist() == [0]


def test_canonical_sums_and_leaves_its_input_alone() -> None:
    odd = sp.csr_matrix((np.array([1, 2, 3, 0], dtype=np.float32), [2, 0, 2, 1], [0, 4]), shape=(1, 3))
    assert without_zeros(odd).indices.tolist() == [0, 2]
    assert without_zeros(odd).data.tolist() == [2, 4]
    assert odd.nnz == 4


def test_a_linear_score_in_its_parts() -> None:
    x = sp.csr_matrix(np.array([[1, 10, 0, 100]], dtype=np.float32))
    found = explain_linear(x, MATRIX, [2, 0], np.array([0.5, 0, -0.5]))
    assert found.features == [0, 1, 3]
    assert found.contributions == {2: [1, 0, 0], 0: [0, 20, 300]}
    assert found.evidence == {2: {"words": 1, "start": -0.5}, 0: {"words": 320, "start": 0.5}}


def test_voters_are_told_by_strength_with_the_words_they_share() -> None:
    x = sp.csr_matrix(np.array([[1, 1, 1, 1]], dtype=np.float32))
    ids = np.array([2, 0, 1])
    shared = shared_parts(x, MATRIX, ids)
    assert shared.tolist() == [[1, 0, 5, 0], [0, 2, 0, 3], [0, 0, 0, 0]]
    found = strongest_voters(ids, np.array([0.1, 0.7, 0.0]), shared, x.indices)
    assert found == [Voter(0, 0.7, [3, 1]), Voter(2, 0.1, [2, 0])]


@pytest.mark.parametrize("name", ["knn", "centroid", "ova", "auto"])
def test_evidence_words_and_voters_add_up(name: str) -> None:
    method, Y = fitted(name), known().train.Y
    for row in range(10):
        x = known().test.X[row]
        ranking = method.predict(x, 3)
        asked = [int(label) for label in ranking.labels[0] if label >= 0]
        found = method.explain(x, asked)  # type: ignore[attr-defined]
        assert list(found.contributions) == asked
        assert sorted(found.features) == sorted(x.indices)
        for label, score in zip(asked, ranking.scores[0], strict=False):
            kinds = found.evidence[label]
            assert sum(kinds.values()) == pytest.approx(float(score), abs=1e-4)
            from_words = kinds["neighbours"] if name == "knn" else kinds["words"]
            assert sum(found.contributions[label]) == pytest.approx(from_words, abs=1e-4)
            by_others = sum(added for kind, added in kinds.items() if kind.startswith("neighbours"))
            assert sum(v.added for v in found.voters.get(label, ())) == pytest.approx(by_others, abs=1e-4)
            assert all(Y[v.row, label] for v in found.voters.get(label, ()))


@pytest.mark.parametrize("name", ["knn", "centroid", "ova", "auto"])
def test_the_label_s_own_words_speak_for_it(name: str) -> None:
    x = sp.csr_matrix(([1.0, 1.0, 1.0], ([0, 0, 0], [0, 1, N_FEATURES - 5])), shape=(1, N_FEATURES), dtype=np.float32)
    found = fitted(name).explain(x, [0])  # type: ignore[attr-defined]
    assert {feature for feature, _ in found.top(0, 2)} == {0, 1}


@pytest.mark.parametrize("name", ["knn", "centroid", "ova", "auto"])
def test_without_features_frequency_is_the_reason(name: str) -> None:
    x = sp.csr_matrix((1, N_FEATURES), dtype=np.float32)
    method = fitted(name)
    ranking = method.predict(x, 2)
    found = method.explain(x, ranking.labels[0].tolist())  # type: ignore[attr-defined]
    for label, score in zip(ranking.labels[0], ranking.scores[0], strict=True):
        assert found.evidence[label] == {"frequency": pytest.approx(float(score))}
        assert found.contributions[label] == []
