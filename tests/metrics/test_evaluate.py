from __future__ import annotations

from math import log2

import napkinxc.metrics as napkin
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.naive import naive
from zipfel.data import label_matrix
from zipfel.errors import DataError, ParameterError
from zipfel.metrics import Propensity, evaluate
from zipfel.ranking import Ranking

KS = (1, 2, 3, 5)


def as_ranking(rows: list[list[int]], k: int) -> Ranking:
    labels = np.array([row + [-1] * (k - len(row)) for row in rows], dtype=np.int64).reshape(len(rows), k)
    scores = np.where(labels < 0, -np.inf, -np.arange(k, dtype=np.float32))
    return Ranking(labels, scores.astype(np.float32))


def as_truth(rows: list[list[int]], n_labels: int) -> sp.csr_matrix:
    where = [i for i, row in enumerate(rows) for _ in row]
    what = [label for row in rows for label in row]
    return label_matrix(np.array(where, dtype=int), np.array(what, dtype=int), (len(rows), n_labels))


@st.composite
def tasks(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]], list[int], int, int]:
    """(predicted, truth, train counts, training points, labels), with empty and short rows and unseen labels."""
    n_labels = draw(st.integers(1, 12))
    rows = st.lists(st.integers(0, n_labels - 1), unique=True, max_size=min(6, n_labels))
    n = draw(st.integers(1, 8))
    predicted = draw(st.lists(rows, min_size=n, max_size=n))
    truth = draw(st.lists(rows, min_size=n, max_size=n))
    counts = draw(st.lists(st.sampled_from([0, 1, 5, 6, 100, 101, 4000]), max_size=n_labels))
    return predicted, truth, counts, draw(st.integers(1, 100_000)), n_labels


def scores_of(task: tuple[list[list[int]], list[list[int]], list[int], int, int], **options: bool) -> dict[str, float]:
    predicted, truth, counts, n_train, n_labels = task
    return evaluate(as_ranking(predicted, 6), as_truth(truth, n_labels), np.array(counts), n_train, ks=KS, **options)


@given(tasks())
def test_equals_the_definitions_in_plain_python(task) -> None:
    predicted, truth, counts, n_train, _ = task
    expected = naive(predicted, truth, counts, n_train, KS)
    found = scores_of(task)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-12), key


@given(tasks())
def test_skip_empty_is_the_same_as_leaving_those_rows_out(task) -> None:
    predicted, truth, counts, n_train, n_labels = task
    kept = [i for i, row in enumerate(truth) if row]
    rest = ([predicted[i] for i in kept], [truth[i] for i in kept], counts, n_train, n_labels)
    assert scores_of(task, skip_empty=True) == pytest.approx(scores_of(rest))


@given(tasks())
def test_bounds_and_what_buckets_add_up_to(task) -> None:
    scores = scores_of(task)
    assert all(0 <= value <= 1 + 1e-12 for value in scores.values())
    for k in KS:
        parts = sum(scores[f"P@{k}[{name}]"] for name in ("head", "torso", "tail"))
        assert parts == pytest.approx(scores[f"P@{k}"])


@given(tasks(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(task, random) -> None:
    predicted, truth, *rest = task
    order = list(range(len(truth)))
    random.shuffle(order)
    shuffled = ([predicted[i] for i in order], [truth[i] for i in order], *rest)
    assert scores_of(shuffled) == pytest.approx(scores_of(task))


@given(tasks(), st.data())
def test_a_wrong_label_replaced_by_a_right_one_never_hurts(task, data) -> None:
    predicted, truth, *rest = task
    row = data.draw(st.integers(0, len(truth) - 1))
    missed = sorted(set(truth[row]) - set(predicted[row]))
    wrong = [i for i, label in enumerate(predicted[row]) if label not in truth[row]]
    if not missed or not wrong:
        return
    better = list(predicted[row])
    better[data.draw(st.sampled_from(wrong))] = data.draw(st.sampled_from(missed))
    before, after = scores_of(task), scores_of(([*predicted[:row], better, *predicted[row + 1 :]], truth, *rest))
    for key, value in before.items():
        assert after[key] >= value - 1e-12, key


@given(tasks())
def test_a_perfect_ranking_scores_one(task) -> None:
    _, truth, counts, n_train, n_labels = task
    if not any(truth):
        return
    seen = np.pad(np.array(counts, dtype=int), (0, n_labels - len(counts)))
    perfect = [sorted(row, key=lambda label: seen[label]) for row in truth]  # rarest first is best for PSP
    scores = evaluate(
        as_ranking(perfect, 6), as_truth(truth, n_labels), seen, n_train, ks=(6,), skip_empty=True, buckets=False
    )
    assert scores.pop("P@6") == pytest.approx(np.mean([len(row) / 6 for row in truth if row]))
    assert all(value == pytest.approx(1) for value in scores.values())


@given(tasks())
def test_equals_napkinxc_where_the_contracts_agree(task) -> None:
    predicted, truth, counts, n_train, n_labels = task
    inverse = Propensity().inverse(np.pad(np.array(counts, dtype=int), (0, n_labels - len(counts))), n_train)
    found = scores_of(task)
    pairs = {"P": napkin.precision_at_k(truth, predicted, 5), "R": napkin.recall_at_k(truth, predicted, 5)}
    if any(truth):
        pairs["PSP"] = napkin.psprecision_at_k(truth, predicted, inverse, 5)
        pairs["coverage"] = napkin.coverage_at_k(truth, predicted, 5)
        pairs["PSnDCG"] = napkin.psndcg_at_k(truth, predicted, inverse, 5)
    pairs["nDCG"] = napkin.ndcg_at_k(truth, predicted, 5)
    for metric, values in pairs.items():
        for k in KS:
            assert found[f"{metric}@{k}"] == pytest.approx(values[k - 1]), (metric, k)


def test_numbers_worked_out_by_hand() -> None:
    # Row 0: hits at ranks 1 and 3 of {0, 2, 9}; row 1: nothing is true; row 2: one hit at rank 2 of {1}.
    ranking = as_ranking([[0, 1, 2], [0, 1, 2], [3, 1]], 3)
    truth = as_truth([[0, 2, 9], [], [1]], 10)
    counts = np.array([200, 50, 3, 50])  # labels 4 to 9 were never seen: tail
    scores = evaluate(ranking, truth, counts, 1000, ks=(1, 3))
    assert scores["P@1"] == pytest.approx(1 / 3)
    assert scores["P@3"] == pytest.approx((2 + 0 + 1) / 9)
    assert scores["R@3"] == pytest.approx((2 / 3 + 0 + 1) / 3)
    ideal = 1 + 1 / log2(3) + 1 / 2
    assert scores["nDCG@3"] == pytest.approx(((1 + 1 / 2) / ideal + 0 + 1 / log2(3)) / 3)
    assert scores["coverage@3"] == pytest.approx(3 / 4)
    # F1: label 0: 2*1/(2+1), label 1: 2*1/(3+1), label 2: 2*1/(2+1), label 3: 0, label 9: 0
    assert scores["macro-F1@3"] == pytest.approx((2 / 3 + 1 / 2 + 2 / 3) / 5)
    C = (np.log(1000) - 1) * 2.5**0.55
    inverse = {count: 1 + C * (count + 1.5) ** -0.55 for count in (200, 50, 3, 0)}
    gains = inverse[200] + inverse[3] + inverse[50]
    assert scores["PSP@3"] == pytest.approx(gains / (gains + inverse[0]))
    assert scores["PSP@1"] == pytest.approx(inverse[200] / (inverse[0] + inverse[50]))
    assert scores["P@3[tail]"] == pytest.approx(1 / 9)
    assert scores["R@3[tail]"] == pytest.approx(1 / 2)  # of {2, 9} in the only row with tail labels
    assert scores["nDCG@3[head]"] == pytest.approx(1)
    assert scores["nDCG@3[torso]"] == pytest.approx(1 / log2(3))
    assert scores["coverage@3[tail]"] == pytest.approx(1 / 2)
    assert scores["macro-F1@3[tail]"] == pytest.approx((2 / 3) / 2)


def test_stored_zeros_and_weights_in_the_truth_are_binarised() -> None:
    truth = sp.csr_matrix((np.array([0.0, 7.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    scores = evaluate(as_ranking([[0, 1]], 2), truth, ks=(2,))
    assert scores["P@2"] == 0.5
    assert scores["R@2"] == 1.0


def test_a_narrow_ranking_is_padded_and_a_label_outside_of_the_truth_is_wrong() -> None:
    scores = evaluate(as_ranking([[5]], 1), as_truth([[0]], 1), np.array([3]), 10, ks=(1, 5))
    assert scores["P@1"] == scores["P@5"] == 0.0
    assert evaluate(as_ranking([[0]], 1), as_truth([[0]], 1), ks=(5,))["P@5"] == pytest.approx(0.2)


def test_without_training_counts_propensities_and_buckets_are_left_out() -> None:
    scores = evaluate(as_ranking([[0]], 1), as_truth([[0]], 1), ks=(1,))
    assert set(scores.values()) == {1.0}
    assert {key.split("@")[0] for key in scores} == {"P", "nDCG", "R", "RP", "F1", "micro-F1", "coverage", "macro-F1"}


def test_no_rows_at_all() -> None:
    scores = evaluate(as_ranking([], 2), sp.csr_matrix((0, 4)), np.ones(4, dtype=int), 10)
    assert set(scores.values()) == {0.0}


def test_what_is_refused() -> None:
    ranking, truth = as_ranking([[0]], 1), as_truth([[0], [1]], 2)
    with pytest.raises(DataError, match="2 rows, but 1"):
        evaluate(ranking, truth)
    with pytest.raises(ParameterError, match="k must be 1 or more"):
        evaluate(ranking, truth[:1], ks=(0,))
    with pytest.raises(ParameterError, match="give both"):
        evaluate(ranking, truth[:1], np.ones(2, dtype=int))
    with pytest.raises(ParameterError, match="negative"):
        evaluate(ranking, truth[:1], np.array([-1, 2]), 5)
