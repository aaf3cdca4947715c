"""Rank-AE: every variant learns, the read-outs agree with their parts, and explanations add up."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.contract import N_FEATURES, OWN, QUICK, SEEN, known
from zipfel.errors import DataError, ParameterError
from zipfel.methods import Points, make_method
from zipfel.methods.rankae import RankAe, RankAeConfig
from zipfel.metrics import evaluate
from zipfel.nn import autoencoder
from zipfel.nn.autoencoder import BatchNorm
from zipfel.nn.word_vectors import word_start
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.system.threads import use_threads
from zipfel.training import Batch, Batches, Candidates, CandidateSampler


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
        {"loss": "bce", "norm": "none", "decode_features": 1.0},
        {"attention": "spatial", "common": "infonce", "readout": "neighbours"},
        {"sampled": 3, "all_below": 0, "pooling": "mean"},
    ],
    ids=["bce", "spatial", "sampled"],
)
def test_every_variant_learns(params):
    assert p_at_1(fitted(**{"lr": 0.02, **params})) >= 0.8


def batch_of(Y):
    batch = Batch(np.arange(2), None, sp.csr_matrix(Y), (0,), extra={"same": torch.eye(2, dtype=torch.bool)})
    rows, columns = np.nonzero(Y)
    batch.candidates = Candidates(torch.arange(3), torch.from_numpy(rows), torch.from_numpy(columns), torch.ones(3))
    return batch


def test_the_losses_are_equations_1_to_4():
    """Row 0 has label 0: scores 0.5, 0.5, 0.2; row 1 has labels 1 and 2: scores 0.1, 0.9, 0.15; m 0.1."""
    scores = torch.tensor([[0.5, 0.5, 0.2], [0.1, 0.9, 0.15]], dtype=torch.float64)
    batch, c = batch_of(np.array([[1, 0, 0], [0, 1, 1]], np.float32)), RankAeConfig(margin=0.1)
    first = 0.1 + 0.1  # L_P: label 1 is level with 0; L_N: the same pair again
    second = (0.1 + 0.1 - 0.15) + (0.1 + 0.1 - 0.15)  # L_P: 0 against the lowest, 2; L_N: 2 against 0
    found = RankAe.reconstruction_loss(c, torch.logit(scores).float(), batch)
    assert float(found) == pytest.approx((first + second) / 2, rel=1e-5)
    x_h, y_h = torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([[0.0, 0.0], [3.0, 0.0]])
    assert float(RankAe.common_loss(c, x_h, y_h, batch)) == (1 + 4 + 9) / 2


def literal_loss(y, scores, m):
    """Eq. 2-4 of one row, with every pair."""
    positives, negatives = np.flatnonzero(y), np.flatnonzero(y == 0)
    gaps = np.array([[max(0.0, m + scores[n] - scores[p]) for n in negatives] for p in positives])  # (|P|, |N|)
    return gaps.max(axis=0).sum() + gaps.max(axis=1).sum()


@pytest.mark.parametrize("norm", ["none", "batch"])
def test_equation_1_with_its_three_maps_is_what_numpy_says(norm):
    """F by Eq. 5, E and D with two layers each, L_h + lambda L_ae, written down without torch."""
    rng, m, weight = np.random.default_rng(0), 0.3, 2.5
    method = make_method("rankae", {**QUICK["rankae"], "norm": norm, "margin": m, "balance": weight})
    network, C, hidden, L = method._network(1), 16, 32, 5
    words, E, D, bias = (
        rng.standard_normal(shape).astype(np.float32) for shape in ((9, C), *2 * ((L, hidden),), (L, 1))
    )
    X = sp.csr_matrix(rng.random((4, 9), dtype=np.float32) * (rng.random((4, 9)) < 0.6))
    Y = sp.csr_matrix(np.array([[1, 0, 0, 1, 0], [0, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 1]], np.float32))
    sampler = CandidateSampler(Y, n_sampled=0, all_below=L)
    batch = next(iter(Batches(X, Y, size=4, seed=0, candidates=sampler, extend=method._extend).epoch(0)))
    tables = {"features": words, "encoder": E, "labels": D, "bias": bias}
    rows = {name: torch.from_numpy(tables[name][batch.ids[name].numpy()]) for name in tables}
    found = float(method.objective(method.config, batch, rows, network.train()).detach())

    w = {name: tensor.detach().numpy() for name, tensor in network.named_parameters()}

    def normalised(h, layer):
        centred = h - h.mean(axis=0)
        return centred / np.sqrt((centred**2).mean(axis=0) + 1e-5) * w[f"{layer}.weight"] + w[f"{layer}.bias"]

    V = X.toarray()[:, :, None] * words  # V' (B, n, C)
    squeezed = np.maximum(V @ w["attention.squeeze.weight"].T + w["attention.squeeze.bias"], 0)
    A = 1 / (1 + np.exp(-(squeezed @ w["attention.excite.weight"].T + w["attention.excite.bias"])))
    x_h = (V * A).sum(axis=1) @ w["common.weight"].T + w["common.bias"]
    h = Y.toarray() @ E
    h = normalised(h, "encoder_norm") if norm == "batch" else h + w["encoder_bias"]
    y_h = np.maximum(h, 0) @ w["encoder.weight"].T + w["encoder.bias"]
    h = y_h @ w["decoder.weight"].T
    h = normalised(h, "decoder_norm") if norm == "batch" else h + w["decoder.bias"]
    y = 1 / (1 + np.exp(-(np.maximum(h, 0) @ D.T + bias.T)))
    L_ae = np.mean([literal_loss(row, scores, m) for row, scores in zip(Y.toarray(), y, strict=True)])
    assert found == pytest.approx(((x_h - y_h) ** 2).sum(axis=1).mean() + weight * L_ae, rel=1e-4)


def test_hidden_layers_are_normalised_over_the_batch_and_by_running_means_at_prediction(plain):
    network = plain.readout_.trained.network
    assert not network.decoder_norm.training
    assert plain.chosen_["autoencoder"][0] > 0.9  # the auto-encoder decodes true label codes
    single = BatchNorm(2)
    torch.testing.assert_close(single(torch.ones(1, 2)), torch.ones(1, 2), atol=1e-4, rtol=0)  # no variance of one row
    two = single(torch.tensor([[1.0, 5.0], [3.0, 5.0]]))
    torch.testing.assert_close(two.detach(), torch.tensor([[-1.0, 0.0], [1.0, 0.0]]), atol=1e-4, rtol=0)


def test_the_ranking_is_the_weighted_sum_of_decoder_and_votes():
    method = fitted(readout="both")
    X, L = known().test.X, method.readout_.votes.near.ballots.shape[1]
    if method.readout_.votes.blend is None:
        pytest.skip("the held-out points chose the decoder alone")
    parts = {}
    for method.readout_.votes.share in (1.0, 0.0, 0.25):
        parts[method.readout_.votes.share] = method.predict(X, L).to_csr(L).toarray()
    both = (parts[0.25] != 0) & (parts[0.0] != 0)
    np.testing.assert_allclose(parts[0.25][both], (0.25 * parts[1.0] + 0.75 * parts[0.0])[both], atol=1e-6)


def test_a_document_without_a_known_feature_gets_the_most_frequent_labels(plain):
    unseen = sp.csr_matrix(([1.0], ([0], [N_FEATURES - 1])), shape=(1, N_FEATURES), dtype=np.float32)
    assert plain.predict(unseen, 1).labels[0, 0] == np.argmax(plain.priors_)


def test_labels_that_train_lacks_are_not_ranked():
    train = known().train
    method = make_method("rankae", QUICK["rankae"])
    wide = sp.csr_matrix((train.Y.data, train.Y.indices, train.Y.indptr), shape=(train.n_points, 6000))
    method.fit(Points(train.X, wide), None, Run(seed=1, threads=1))
    seen = np.unique(train.Y.indices)
    assert np.isin(method.predict(known().test.X, len(seen) + 2).labels, [-1, *seen]).all()


def test_the_papers_preset_is_section_3_1():
    c = make_method("rankae", preset="paper").config
    assert (c.loss, c.common, c.readout, c.attention) == ("ranking", "mse", "decoder", "dual")
    assert (c.word_dim, c.dim, c.reduction, c.keep, c.decode_features) == (100, 100, 4, 1, 0)


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
    first, rows = plain.readout_.trained, torch.from_numpy(x.indices.astype(np.int64))
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
    X, names = sp.csr_matrix(np.ones((1, N_FEATURES), np.float32)), [f"w{i}" for i in range(N_FEATURES)]
    start = word_start(X, 16, 0.1, np.random.default_rng(0), str(file), names)
    np.testing.assert_array_equal(start[:SEEN], np.full((SEEN, 16), 0.5, np.float32))
    assert (np.abs(start[SEEN:]) != 0.5).all()
    file.write_text("w0 1 2\n")
    with pytest.raises(DataError, match=r"words\.vec:1"):
        word_start(X, 16, 0.1, np.random.default_rng(0), str(file), names)


def test_with_more_threads_the_answers_differ_by_rounding_only():
    found = []
    for threads in (1, 2):
        method = make_method("rankae", {**QUICK["rankae"], "epochs": 4})
        with use_threads(threads):
            method.fit(known().train, None, Run(seed=3, threads=threads))
        found.append((method.chosen_["epochs"], method.predict(known().test.X, 4)))
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1].scores, found[1][1].scores, atol=1e-4)


def test_labels_are_ranked_block_by_block(plain, monkeypatch):
    trained = plain.readout_.trained
    codes = trained.codes(known().test.X)
    whole = Ranking.from_dense(trained.scores(codes), 4)
    monkeypatch.setattr(autoencoder, "_CELLS", 3 * known().train.n_labels)
    blocks = trained.ranked(codes, 4)
    np.testing.assert_array_equal(blocks.labels, whole.labels)
    np.testing.assert_allclose(blocks.scores, whole.scores, atol=1e-6)
    assert len(trained.ranked(codes[:0], 4).labels) == 0


def test_stretched_codes_are_so_many_times_as_far_from_their_mean(plain):
    X = known().test.X
    codes = plain.readout_.trained.codes(X)
    mean = codes.mean(axis=0)
    found = plain.readout_.trained.stretched(1.5, X).codes(X)
    np.testing.assert_allclose(found, mean + 1.5 * (codes - mean), rtol=1e-4, atol=1e-4)
