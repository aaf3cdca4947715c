"""Rank-AE: every variant learns, the read-outs agree with their parts, and explanations add up."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.contract import N_FEATURES, N_LABELS, OWN, QUICK, SEEN, assert_same, known
from zipfel.errors import DataError, ModelFileError, ParameterError
from zipfel.methods import Points, make_method
from zipfel.metrics import evaluate
from zipfel.run import Run
from zipfel.threads import use_threads


def fitted(run=None, **params):
    method = make_method("rankae", {**QUICK["rankae"], **params})
    method.fit(known().train, None, run or Run(seed=1, threads=1))
    return method


def p_at_1(method):
    return evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"]


@pytest.fixture(scope="module")
def plain():
    return fitted()


@pytest.mark.parametrize(
    "params",
    [
        {"loss": "ranking", "readout": "decoder", "bounded": False, "margin": 1.0},
        {"attention": "spatial", "common": "mse", "readout": "neighbours", "networks": 2},
        {"sampled": 3, "all_below": 0, "pooling": "mean", "readout": "decoder"},
    ],
    ids=["ranking", "spatial", "sampled"],
)
def test_every_variant_learns(params):
    assert p_at_1(fitted(**{"lr": 0.04, **params})) >= 0.8


def test_the_ranking_is_the_weighted_sum_of_decoder_and_votes(plain):
    X, L = known().test.X, plain.votes_.near.ballots.shape[1]
    parts = {}
    for plain.votes_.share in (1.0, 0.0, 0.25):
        parts[plain.votes_.share] = plain.predict(X, L).to_csr(L).toarray()
    np.testing.assert_allclose(parts[0.25], 0.25 * parts[1.0] + 0.75 * parts[0.0], atol=1e-6)
    assert (parts[1.0] > 0).all()
    assert (parts[1.0] < 1).all()


def test_points_with_the_same_words_vote_where_codes_know_little():
    """Codes of one number, hardly trained, tell little; words do, and a saved model remembers them."""
    lost = {"lr": 1e-6, "epochs": 1, "dim": 1, "word_dim": 1, "readout": "neighbours"}
    found, without = fitted(**lost), fitted(**lost, by_words=False)
    assert found.votes_.blend.weights["words"] >= 0.5
    assert without.words_ is None
    assert p_at_1(found) >= p_at_1(without) + 0.1
    again = make_method("rankae", found.config.to_dict())
    again.restore(found.state(), N_FEATURES, N_LABELS)
    assert_same(again.predict(known().test.X, 4), found.predict(known().test.X, 4))
    damaged = found.state()
    del damaged.arrays["words.values"]
    with pytest.raises(ModelFileError, match="lacks values"):
        again.restore(damaged, N_FEATURES, N_LABELS)


def test_labels_that_train_lacks_are_never_decoded_before_the_others():
    train = known().train
    method = make_method("rankae", {**QUICK["rankae"], "loss": "ranking", "readout": "decoder", "refit": False})
    wide = sp.csr_matrix((train.Y.data, train.Y.indices, train.Y.indptr), shape=(train.n_points, 5000))
    method.fit(Points(train.X, wide), None, Run(seed=1, threads=1))
    seen = np.unique(train.Y.indices)
    assert np.isin(method.predict(known().test.X, len(seen)).labels, seen).all()


def test_explanation_favours_the_words_of_the_label(plain):
    """Label l has the features 4l to 4l + 3 to itself: they must speak for it, on the whole."""
    right = []
    for row in range(20):
        x, truth = known().test.X[row], known().test.Y[row].indices
        found = plain.explain(x, truth)
        assert sorted(found.features) == x.indices.tolist()
        assert all(0 <= weight <= 1 for weight in found.attention)
        right += [found.top(label, 1)[0][0] // OWN == label for label in truth.tolist()]
    assert np.mean(right) > 0.9


def test_contributions_are_the_first_order_change_of_the_score(plain):
    """A word's contribution is its part of x' times the slope there: small moves of x' change the logit by it."""
    x = known().test.X[0]
    found = plain.explain(x, [0])
    first, rows = plain.trained_[0], torch.from_numpy(x.indices.astype(np.int64))
    words = first.tables["features"]
    weighted = words[rows] * torch.from_numpy(x.data)[:, None]
    parts = (weighted * first.network.attention.channels(weighted)).detach()
    step, pooled = 1e-3, parts.sum(0, keepdim=True)
    with torch.no_grad():
        for place, part in enumerate(parts):
            up, down = (first.logits(first.network.common(pooled + sign * step * part))[0, 0] for sign in (1, -1))
            slope = float(up - down) / (2 * step)
            at = list(found.features).index(int(x.indices[place]))
            assert abs(found.contributions[0][at] - slope) < 0.02 + 0.05 * abs(slope)


def test_explain_by_default_takes_the_best_labels_and_an_empty_document(plain):
    x = known().test.X[1]
    assert list(plain.explain(x).contributions) == [label for label in plain.predict(x, 5).labels[0] if label >= 0]
    empty = plain.explain(sp.csr_matrix((1, N_FEATURES), dtype=np.float32))
    assert list(empty.features) == []


def test_word_vectors_need_names_and_are_read(tmp_path):
    file = tmp_path / "words.vec"
    file.write_text("\n".join(f"w{i} {' '.join(['0.5'] * 16)}" for i in range(SEEN)))
    with pytest.raises(ParameterError, match="names of the features"):
        fitted(words=str(file), epochs=1)
    method = make_method("rankae", {**QUICK["rankae"], "words": str(file)})
    run = Run(seed=1, feature_names=[f"w{i}" for i in range(N_FEATURES)])
    start = method._start_of_words(N_FEATURES, run)
    np.testing.assert_array_equal(start[:SEEN], np.full((SEEN, 16), 0.5, np.float32))
    assert (np.abs(start[SEEN:]) != 0.5).all()
    file.write_text("w0 1 2\n")
    with pytest.raises(DataError, match=r"words\.vec:1"):
        method._start_of_words(N_FEATURES, run)


def test_side_by_side_or_one_after_the_other_the_networks_are_the_same():
    """Each has its own draws; torch's one generator gives the starts only, before any is trained."""
    found = []
    for threads in (1, 2):
        method = make_method("rankae", {**QUICK["rankae"], "networks": 2})
        with use_threads(threads):
            method.fit(known().train, None, Run(seed=3, threads=threads))
        found.append(method.predict(known().test.X, 4))
    assert_same(*found)
