"""GLaS: unit vectors for documents and labels, the labels' Gram matrix held to their co-occurrence.

Guo et al.: Breaking the Glass Ceiling for Embedding-Based Classifiers for Large Output Spaces, NeurIPS 2019.

    h(x)_y = g <phi(x), v_y>, |phi| = |v_y| = 1, one length g                      Sec. 3.1   `GlasNetwork`
    phi(x) = W x or ReLU(W x + b), with each feature kept with probability rho     Sec. 3.3   `GlasNetwork.encode`
    margin    sum of [h_y' - h_y + c]_+ over sampled y' for one y of the row       Eq. 1      `losses.margin`
    mining    the same over the top-scoring y' of the sample                       Reddi 19   `losses.margin`
    softmax   cross-entropy over sampled or all labels                             Sec. 4     `losses.softmax`
    GLaS      |V'V - (A Z^-1 + Z^-1 A) / 2|^2 / K^2 on the batch's labels, A = Y'Y Eq. 3      `regularizers.gram`
    loss      + lambda * GLaS (or spread-out, Eq. 2, or gravity)                   Alg. 2     `Glas._objective`

Deviations; docs/methods/glas.md has what they are worth:
- The default loss is softmax over all of a row's labels and sampled candidates; `positives` = one is Algorithm 2's.
- U is of the whole training set, as in the paper; its sub-matrix enters only where it is not zero.
- Feature vectors start from latent semantic analysis of the rows, label vectors at the centroids of their documents'
  codes, not at random: a label with three documents would not get far in a few epochs.
- Scores are lowered by r log(N_l / N), `rarity`; 0 is the paper's.
- Several `networks` may be trained side by side on the same batches, and their scores averaged.
- The votes of the training points nearest by words, and sparse classifiers, are heard beside the scores, joined by
  learnt weights (`opinions`). `votes=false sparse=false` is the paper's; presets, `alone` among them, are so.
- The code's numbers are dropped at random too, before it is normalised (`dropout`), beside the paper's input dropout.
- What is kept is rounded to int8 with a scale for each row; `precision` = float32 keeps all of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel.data.splitting import held_out_runs
from zipfel.errors import ModelFileError
from zipfel.index import build_index, load_index
from zipfel.index.base import unit_rows
from zipfel.kernels.bag import encode_bag
from zipfel.kernels.topk import score_pairs
from zipfel.losses.margin import sampled_margin, stochastic_negative_mining
from zipfel.losses.softmax import softmax_cross_entropy
from zipfel.methods.base import Method, Points, State, under
from zipfel.methods.by_words import learn_words
from zipfel.methods.glas_config import PRESETS, GlasConfig
from zipfel.methods.glas_judge import Judge
from zipfel.methods.glas_network import GlasNetwork
from zipfel.methods.opinions import Bonus, Opinions
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.metrics import evaluate
from zipfel.nn.bag import bag
from zipfel.nn.table import Table
from zipfel.nn.tokens import token_table
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.ranking import PAD, Ranking
from zipfel.regularizers.affinity import label_affinity
from zipfel.regularizers.gram import glas, gravity, spread_out, submatrix
from zipfel.run import Run
from zipfel.threads import at_once, over_blocks
from zipfel.training import Batch, Batches, CandidateSampler, Plan, Trainer

Vectors = npt.NDArray[np.float32]
_GAP_SAMPLE, _FEW = 2000, 20
"""Training points that the generalisation gap is measured on; points below which none is held out."""
_SHARE = 0.8
"""Of a time budget, for the network; the rest is for joining what it and the words say."""


BONUS = Bonus(tails=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5), cost=0.005)
"""Rare labels are what GLaS is for."""


class Glas(Method):
    """Unit vectors for documents and labels; labels that go together stand together."""

    name: ClassVar[str] = "glas"
    title: ClassVar[str] = "GLaS: label vectors whose Gram matrix follows the labels' co-occurrence"
    paper: ClassVar[str] = "Guo et al.: Breaking the Glass Ceiling for Embedding-Based Classifiers, NeurIPS 2019"
    Config = GlasConfig
    config: GlasConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = PRESETS
    opinions_: Opinions | None = None

    # -- the objective (Algorithm 2, lines 13-18)

    def _objective(self, batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        codes = self.network_.encode(bag(rows["features"], batch.X))  # (E, B, d)
        V = self.network_.unit(rows["labels"])  # (E, c, d)
        losses = [self._loss(scores, batch) for scores in self.network_(codes, V)]
        penalties = [self._penalty(*pair, batch) for pair in zip(codes, V, strict=True)]
        return torch.stack(losses).sum() + self.config.weight * torch.stack(penalties).sum()

    def _loss(self, scores: Tensor, batch: Batch) -> Tensor:
        c, found = self.config, batch.candidates
        assert found is not None
        relevant = found.targets(len(batch))  # (B, c)
        if c.loss == "softmax" and c.positives == "all":
            target = relevant / relevant.sum(dim=1, keepdim=True).clamp(min=1)
            return softmax_cross_entropy(scores, target, found.inclusion.log())
        drawn = torch.rand(len(found.rows), generator=batch.generator).to(scores.device) + 0.5
        one = torch.zeros_like(relevant).index_put((found.rows, found.columns), drawn).argmax(dim=1)  # (B,)
        if c.loss == "softmax":
            target = torch.zeros_like(relevant).scatter(1, one[:, None], 1.0)
            return softmax_cross_entropy(scores, target, found.inclusion.log())
        positive = scores.gather(1, one[:, None])[:, 0]
        if c.loss == "margin":
            return sampled_margin(positive, scores, relevant == 0, c.margin)
        return stochastic_negative_mining(positive, scores, relevant == 0, c.margin, c.hardest)

    def _penalty(self, codes: Tensor, V: Tensor, batch: Batch) -> Tensor:
        if self.config.regularizer == "none" or self.config.weight == 0:
            return codes.new_zeros(())
        mine = V[batch.extra["mine"]]  # (b, d), the labels of the batch's rows
        if self.config.regularizer == "glas":
            return glas(mine, batch.extra["U"])
        return spread_out(mine) if self.config.regularizer == "spread_out" else gravity(codes, mine)

    # -- training

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        if valid is not None:
            valid = Points(valid.X, valid.Y[:, : train.n_labels])
        elif train.n_points >= _FEW:
            size = max(1, min(2000, round(self.config.valid_share * train.n_points)))
            held = held_out_runs(train.n_points, size, run.rng(20))
            train, valid = train.take(np.setdiff1d(np.arange(train.n_points), held)), train.take(held)
        if valid is None or not (self.config.votes or self.config.sparse):
            self._fit_network(train, valid, run)
            return
        known = valid
        _, learnt = at_once(
            lambda: self._fit_network(train, known, run.part(_SHARE)),
            lambda: learn_words(self.config, train.joined(known), train.n_points, run),
        )
        assert learnt is not None
        with run.timed("opinions"):
            self.opinions_ = Opinions.learn(self.config, Judge(self), train, valid, learnt, BONUS)

    def _fit_network(self, train: Points, valid: Points | None, run: Run) -> None:
        c = self.config
        self.priors_ = label_priors(train.Y)
        self.network_ = GlasNetwork(c)
        with run.timed("start"):
            tables = self._tables(train, run)
            batches = self._batches(train, run)

        def validate() -> float:
            assert valid is not None
            self._finish(tables)
            return self._p_at_1(valid)

        noise = 0.5 / math.sqrt(valid.n_points) if valid is not None and valid.n_points else 0.0  # P@1's error
        epochs = c.epochs_for(len(batches))
        plan = Plan(epochs=epochs, lr=c.lr, schedule="linear", patience=c.patience, tolerance=noise)
        with run.timed("training"):
            Trainer(
                run,
                batches,
                self._objective,
                plan,
                tables=tables,
                module=self.network_,
                validate=None if valid is None else validate,
                name="glas",
            ).fit()
        with run.timed("index"):
            self._finish(tables)
            self.features_ = rounded(tables["features"].numpy(), c.precision)
            self.gap_ = self._gap(train, valid, run)

    def _tables(self, train: Points, run: Run) -> dict[str, Table]:
        c = self.config
        first = [token_table(train.X, c.dim, run.rng(21, e), kind=c.tokens) for e in range(c.networks)]
        features = Table(np.hstack(first))
        labels = Table.normal(train.n_labels, c.networks * c.dim, c.dim**-0.5, run.rng(22))
        if c.start == "centroid":
            codes = self._encode(train.X, features.numpy())
            centroids = self._unit(np.asarray(train.Y.T @ (codes - codes.mean(axis=0)), dtype=np.float32))
            seen = np.flatnonzero(centroids.any(axis=1))
            labels.weights[torch.from_numpy(seen)] = torch.from_numpy(centroids[seen])
        return {"features": features, "labels": labels}

    def _batches(self, train: Points, run: Run) -> Batches:
        c = self.config
        U = label_affinity(train.Y, c.affinity) if c.regularizer == "glas" else None

        def extend(batch: Batch, _: np.random.Generator) -> None:
            assert batch.candidates is not None
            mine = torch.unique(batch.candidates.columns)
            batch.extra["mine"] = mine
            if U is not None:
                batch.extra["U"] = submatrix(U, batch.candidates.labels[mine].numpy())

        everything = train.n_labels if c.sampled is None else 0
        sampler = CandidateSampler(train.Y, n_sampled=c.sampled or 0, power=0.5, n_hard=0, all_below=everything)
        rows = np.flatnonzero((np.diff(train.Y.indptr) > 0) & (np.diff(train.X.indptr) > 0))
        return Batches(
            train.X, train.Y, size=c.batch, seed=run.seed, candidates=sampler, keep=c.keep, rows=rows, extend=extend
        )

    def _gap(self, train: Points, valid: Points | None, run: Run) -> dict[str, float]:
        """Table 2: P@1 on train, on held-out points, and the difference."""
        rows = np.sort(run.rng(23).permutation(train.n_points)[:_GAP_SAMPLE])
        found = {"train P@1": self._p_at_1(train.take(rows))}
        if valid is not None:
            found["valid P@1"] = self._p_at_1(valid)
            found["gap"] = found["train P@1"] - found["valid P@1"]
        return found

    def _p_at_1(self, points: Points) -> float:
        """Of the network alone."""
        ranking = fill_blank(self.search(self.encode(points.X), 1), self.priors_)
        return evaluate(ranking, points.Y, ks=(1,))["P@1"]

    # -- prediction: encode, then maximum inner product search

    def _finish(self, tables: Mapping[str, Table]) -> None:
        """The index over g v_y, with -r log(N_y / N) as a last number that every code meets with a 1."""
        self.features_ = tables["features"].numpy()
        seen = np.flatnonzero(self.priors_)
        lengths = np.repeat(self.network_.log_length.detach().exp().numpy() / self.config.networks, self.config.dim)
        lowered = self.config.rarity * np.log(self.priors_[seen])
        vectors = np.column_stack([lengths * self._unit(tables["labels"].numpy()[seen]), -lowered])
        self.index_ = build_index(rounded(vectors.astype(np.float32), self.config.precision), seen, metric="inner")

    def _encode(self, X: sp.csr_matrix, features: Vectors) -> Vectors:
        self.network_.eval()
        with torch.no_grad():
            codes = self.network_.encode(torch.from_numpy(encode_bag(X, features)))
        return np.ascontiguousarray(codes.transpose(0, 1).reshape(X.shape[0], features.shape[1]).numpy())

    def _unit(self, vectors: Vectors) -> Vectors:
        """(n, E d) with each of the E parts of a row of unit length."""
        return unit_rows(vectors.reshape(-1, self.config.dim)).reshape(vectors.shape)

    def encode(self, X: sp.csr_matrix) -> Vectors:
        """(n, E d + 1): codes, of zeros for rows without features, and the 1 that meets -r log(N_y / N)."""
        codes = np.column_stack([self._encode(X, self.features_), np.ones(X.shape[0], dtype=np.float32)])
        codes[np.diff(X.indptr) == 0] = 0
        return codes

    def search(self, codes: Vectors, k: int) -> Ranking:
        """The labels with the largest h(x)_y; none for codes of zeros."""
        ranking = Ranking(*self.index_.search(codes, k))
        nothing = ~codes.any(axis=1)
        ranking.labels[nothing], ranking.scores[nothing] = PAD, -np.inf
        return ranking

    def scores(self, codes: Vectors, labels: npt.NDArray[np.int64]) -> Vectors:
        """(n, c) of labels (n, c), -inf for those without a vector."""
        ids, out = self.index_.ids, np.full(labels.shape, -np.inf, dtype=np.float32)
        if len(ids) == 0:
            return out
        places = np.minimum(np.searchsorted(ids, labels), len(ids) - 1)
        places = np.where(ids[places] == labels, places, -1)
        over_blocks(lambda a, b: score_pairs(codes, self.index_.vectors, places, out, a, b), len(codes))
        return out

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        ranking = self.search(self.encode(X), k) if self.opinions_ is None else self.opinions_.rank(X, k)
        return fill_blank(ranking, self.priors_)

    # -- state

    def state(self) -> State:
        arrays, facts = self.index_.state()
        own = {f"index.{name}": array for name, array in arrays.items()}
        for name, table in {"features": self.features_, "index.vectors": self.index_.vectors}.items():
            own |= pack_table(name, table, self.config.precision)
        network = {name: tensor.numpy() for name, tensor in self.network_.state_dict().items()}
        found = {"index": facts, "gap": self.gap_}
        if self.opinions_ is not None:
            further = self.opinions_.state()
            own |= under("opinions", further.arrays)
            found["opinions"] = dict(further.facts)
        return State({**own, "priors": self.priors_, **network}, found)

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        c = self.config
        width = c.networks * c.dim
        self.features_ = unpack_table("features", state.arrays, n_features, width)
        self.priors_ = state.array("priors", shape=(n_labels,))
        self.network_ = GlasNetwork(c)
        names = {"bias": (width,), "log_length": (c.networks,)}
        self.network_.load_state_dict({n: torch.tensor(state.array(n, shape=shape)) for n, shape in names.items()})
        parts = state.part("index")
        parts["vectors"] = unpack_table("vectors", parts, len(state.array("index.ids", ndim=1)), width + 1)
        try:
            self.gap_, facts = dict(state.facts["gap"]), dict(state.facts["index"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the model's facts are damaged: {error}") from None
        self.index_ = load_index(parts, facts)
        if "opinions" in state.facts:
            further = State(state.part("opinions"), state.facts["opinions"])
            self.opinions_ = Opinions.restored(c, Judge(self), further, n_features, n_labels)
