"""Astec: features learnt by predicting clusters of labels, frozen; classifiers on a shortlist; a re-ranker.

Dahiya, Saini, Mittal, Shaw, Dave, Soni, Jain, Agarwal, Varma: DeepXML, a deep extreme multi-label learning framework
applied to short text documents. WSDM 2021. Built after section II of the LightDXML paper, which compares with it.

Module 1   v_i = ReLU(TF-IDF weighted sum of token embeddings + b)                       `_learn_features`
           clusters of labels by balanced 2-means of mu_l, the mean of label l's points
           scaled to unit length                                                         `_clusters`
           v is trained to predict the clusters of a point's labels, and then frozen     `surrogate`
Module 2   S(i): nearest label centroids, and labels of the nearest training points,
           at most 500 together, and 50 labels at random                                 `TwoSearches`, `_batches`
Module 3   x_i = v_i + ReLU(R v_i + c), the largest singular value of R bounded          `ResidualEncoder`
Module 4   sum over j in P_i and S(i) of BCE(w_j . x_i, y_ij)                            `objective`
Re-ranker  an encoder and classifiers of its own, on the positives and on the labels
           that module 4 wrongly ranks first                                             `_learn_reranker`
Prediction (1 - gamma) (beta s(w_j . x) + (1 - beta) s(cos(v, mu_j))) + gamma s(u_j . z) `predict`

What the section leaves open, and the value here (docs/methods/astec.md has the measurements):
- The points whose centroids are clustered are the first bags of token embeddings; 2-means starts from two labels at
  random. There is a cluster for every two labels, but at least 1,000 (fewer than that many labels are a cluster each)
  and at most 65,536. Centroids for the search are those of v.
- Epochs, rates, dropout, the number of neighbours asked, and the bound of R are no figures of the section.
- beta and gamma are chosen on held-out points, and the epoch of module 4 and of the re-ranker by P@1 there.
- The re-ranker starts as a copy of what modules 1 to 4 learnt, and scores the labels that module 4 ranks first.
Deviations: as in LightDXML, tokens start from latent semantic analysis (`tokens`), the optimiser is Adam, the batch
follows the size of train, a classifier's last weight is its bias, labels without a training point are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel import config as declared
from zipfel.config import param
from zipfel.kernels.bag import encode_bag
from zipfel.linear.tree import LabelTree
from zipfel.losses.bce import candidate_bce, pair_bce
from zipfel.methods.base import Method, Points, State, under
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.metrics import evaluate
from zipfel.nn.bag import bag
from zipfel.nn.classifier_network import ClassifierNetwork, log_odds_classifiers
from zipfel.nn.encoder import ResidualEncoder
from zipfel.nn.pairs import Pairs, pair_scores
from zipfel.nn.score import candidate_scores, with_constant
from zipfel.nn.table import Table
from zipfel.nn.tokens import token_table
from zipfel.quantize import PRECISIONS
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.training import Batch, Batches, CandidateSampler, Plan, Trainer
from zipfel.training.batches import batch_size
from zipfel.training.cycles import add_pairs
from zipfel.training.held_out import hold_out, sample
from zipfel.training.label_codes import centroids
from zipfel.training.reranker import Reranker
from zipfel.training.shortlist import Scored, best_share, check_label_ids, fused, rank_blocks, ranked
from zipfel.training.two_searches import TwoSearches

Array = npt.NDArray[np.float32]
Places = npt.NDArray[np.integer[Any]]
_CLUSTERS = 1000, 65_536
"""Label clusters, at least and at most."""


@dataclass(frozen=True)
class AstecConfig(declared.Config):
    """Values marked "open" are no figures of the section."""

    dim: int = param(300, "numbers in a code (FastText's)", symbol="D", low=2)
    clusters: int | None = param(
        None, "label clusters (open); none: one for two labels, 1,000 to 65,536", symbol="^L", low=1
    )
    surrogate_epochs: int = param(10, "epochs of module 1 (open)", low=1)
    epochs: int = param(16, "epochs of modules 3 and 4 (open)", low=1)
    ranker_epochs: int = param(5, "epochs of the re-ranker (open); 0: none is trained", low=0)
    batch: int | None = param(None, "points a step (open); none: what makes 32 steps an epoch, 16 to 256", low=1)
    lr: float = param(0.007, "Adam's rate at the start of each module (open), falling linearly to 0", low=1e-6)
    shortlist: int | None = param(
        None, "hardest negatives a point (section II: O(log L), at most 500); none: 60 log L", symbol="k", low=2
    )
    neighbors: int = param(50, "training points asked for their labels (open); 0: only centroids are searched", low=0)
    drawn: int = param(50, "negatives a point at random (section II)", low=0)
    ranker_lr: float = param(0.005, "Adam's rate at the start of the re-ranker (open)", low=1e-6)
    mistakes: int = param(100, "labels ranked first that the re-ranker learns from and scores (open)", low=1)
    bound: float = param(1.0, "largest singular value of R (open)", low=1e-3)
    dropout: float = param(0.5, "dropout of v (open)", low=0, high=0.95)
    beta: float | None = param(None, "weight of the classifiers; none: by held-out points", low=0, high=1)
    gamma: float | None = param(None, "weight of the re-ranker; none: by held-out points", low=0, high=1)
    tokens: str = param("corpus", "first token embeddings (FastText)", choices=("random", "corpus", "file"))
    vectors: str | None = param(None, "a .vec file of word vectors, for tokens=file")
    index: str = param("auto", "how labels and points are searched (hnsw)", choices=("auto", "exact", "hnsw", "ivfpq"))
    precision: str = param("float32", "how the tables are saved", choices=PRECISIONS)
    valid_share: float = param(0.05, "share of train held out where no validation data are given", low=0.01, high=0.5)

    def k(self, n_labels: int) -> int:
        """k = O(log L), 500 at most, and no more than there are."""
        return min(n_labels, self.shortlist or int(np.clip(60 * math.log(max(2, n_labels)), 400, 500)))


class Astec(Method):
    """Frozen features from label clusters, classifiers on a shortlist, and a re-ranker."""

    name: ClassVar[str] = "astec"
    title: ClassVar[str] = "Astec: features from label clusters, classifiers on a shortlist, a re-ranker"
    paper: ClassVar[str] = "Dahiya et al.: DeepXML, a Deep Extreme Multi-Label Learning Framework. WSDM 2021"
    by_workers: ClassVar[str] = "network"
    Config = AstecConfig
    config: AstecConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}}
    reranker_: Reranker | None

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        c = self.config
        if valid is None:
            train, valid = hold_out(train, c.valid_share, run.rng(4))
        self.priors_, self.reranker_ = label_priors(train.Y), None
        self.labels_ = np.unique(train.Y.indices).astype(np.int64) if train.Y.nnz else np.arange(train.n_labels)
        known, checked = Points(train.X, train.Y[:, self.labels_]), sample(valid)
        with run.timed("module 1: features"):
            self.network_ = self._learn_features(known, run)
            v = self.network_.first(known.X)
        with run.timed("module 2: shortlists"):
            seed, kind, k = int(run.rng(5).integers(2**31)), c.index, c.k(known.n_labels)
            self.search_ = TwoSearches.of(v, known.Y, k, c.neighbors, kind=kind, precision=c.precision, seed=seed)
            shortlists = self.search_.of_train(v)
        with run.timed("modules 3, 4: classifiers"):
            self._learn_classifiers(known, v, shortlists, checked, run)
        if c.ranker_epochs:
            with run.timed("re-ranker"):
                self.reranker_ = self._learn_reranker(known, self._mistakes(v, shortlists), checked, run)
        self.network_ = self.network_.rounded(c.precision)
        with run.timed("beta, gamma"):
            self.beta_, self.gamma_ = self._choose_weights(valid)

    # -- module 1

    def _learn_features(self, train: Points, run: Run) -> ClassifierNetwork:
        """Tokens and the encoder's first half, trained on the clusters of labels; then frozen."""
        c = self.config
        tokens = token_table(train.X, c.dim, run.rng(1), kind=c.tokens, path=c.vectors, names=run.feature_names)
        clusters = self._clusters(encode_bag(train.X, tokens), train.Y, run.rng(3))  # (N, ^L)
        encoder = _encoder(c, int(run.rng(2).integers(2**62)))
        encoder.residual.requires_grad_(False)
        tables = {"features": Table(tokens), "labels": Table(log_odds_classifiers(clusters, c.dim))}

        def surrogate(batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
            found = batch.candidates
            assert found is not None
            v = encoder.dropout(encoder.first(bag(rows["features"], batch.X)))  # (B, d)
            return candidate_bce(candidate_scores(with_constant(v), rows["labels"]), found.rows, found.columns)

        every = CandidateSampler(clusters, n_sampled=0, all_below=clusters.shape[1])
        batches = Batches(train.X, clusters, size=self._size(train), seed=run.seed, candidates=every)
        plan = Plan(epochs=c.surrogate_epochs, lr=c.lr)
        Trainer(run, batches, surrogate, plan, tables=tables, module=encoder, name="astec module 1").fit()
        encoder.bias.requires_grad_(False)
        encoder.residual.requires_grad_(True)
        return ClassifierNetwork(tables["features"].numpy(), encoder, log_odds_classifiers(train.Y, c.dim))

    def _clusters(self, points: Array, Y: sp.csr_matrix, rng: np.random.Generator) -> sp.csr_matrix:
        """(N, ^L) of ones: which clusters the labels Y (N, L) of the points (N, d) are in."""
        n = Y.shape[1]
        wanted = min(n, self.config.clusters or int(np.clip(n // 2, *_CLUSTERS)))
        return LabelTree.grow(n, np.arange(n), centroids(points, Y), max(1, -(-n // wanted)), rng).leaves(Y)

    # -- modules 3 and 4, and the re-ranker

    def _learn_classifiers(self, train: Points, v: Array, shortlists: Places, checked: Points, run: Run) -> None:
        c, network = self.config, self.network_
        table, nothing = Table(network.classifiers), sp.csr_matrix((train.n_points, 1), dtype=np.float32)
        v_checked = network.first(checked.X)
        places = self.search_.shortlist(v_checked)

        def objective(batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
            return self.objective(network.encoder.last(torch.from_numpy(v[batch.rows])), batch, rows)

        Trainer(
            run, self._batches(Points(nothing, train.Y), shortlists, c.drawn, run), objective,
            Plan(epochs=c.epochs, lr=c.lr), tables={"labels": table}, module=network.encoder, name="astec module 4",
            validate=lambda: self._p_at_1(network.logits(v_checked, places), places, checked.Y),
        ).fit()  # fmt: skip
        network.classifiers = table.numpy()

    def _learn_reranker(self, train: Points, mistakes: Places, checked: Points, run: Run) -> Reranker:
        """mistakes (N, m): labels that module 4 ranks first; the true ones among them are positives."""
        c, places = self.config, self._first(checked.X)
        return Reranker.trained(
            self.network_, mistakes.shape[1], self._batches(train, mistakes, 0, run), self.objective,
            Plan(epochs=c.ranker_epochs, lr=c.ranker_lr), run, precision=c.precision,
            validate=lambda u: self._p_at_1(u.logits(u.first(checked.X), places), places, checked.Y),
        )  # fmt: skip

    def objective(self, x: Tensor, batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        """BCE of each point (B, d) with its positives and its negatives."""
        pairs: Pairs = batch.extra["pairs"]
        return pair_bce(pair_scores(with_constant(x), rows["labels"], pairs), pairs.truth, len(batch))

    def _batches(self, train: Points, shortlists: Places, drawn: int, run: Run) -> Batches:
        """Each point with its positives, its shortlist, and `drawn` labels at random."""

        def extend(batch: Batch, rng: np.random.Generator) -> None:
            random = rng.integers(0, train.n_labels, (len(batch.everything), drawn), dtype=np.int32)
            add_pairs(batch, np.hstack([shortlists[batch.rows], batch.own(random)]))

        return Batches(train.X, train.Y, size=self._size(train), seed=run.seed, extend=extend)

    def _size(self, train: Points) -> int:
        return self.config.batch or batch_size(train.n_points)

    def _p_at_1(self, logits: Array, places: Places | None, truth: sp.csr_matrix) -> float:
        return evaluate(ranked(self.labels_, places, logits, 1), truth, ks=(1,))["P@1"]

    def _first(self, X: sp.csr_matrix) -> Places:
        """(n, m) places of the labels that module 4 ranks first."""
        v = self.network_.first(X)
        return self._mistakes(v, self.search_.shortlist(v))

    def _mistakes(self, v: Array, places: Places | None) -> Places:
        """(n, m) places of the labels with the largest logits, -1 where there are fewer."""
        return self.network_.first_labels(v, places, min(self.config.mistakes, len(self.labels_)))

    # -- prediction

    def _choose_weights(self, valid: Points) -> tuple[float, float]:
        """(beta, gamma) with the best P@1 + P@3 + P@5 on held-out points, in turn; of equals the largest."""
        c, X, scored = self.config, valid.X, self._scored(self.network_.first(valid.X))
        beta = best_share(lambda betas: [self._blended(X, scored, beta, 0, 5) for beta in betas], valid.Y, c.beta)
        if self.reranker_ is None:
            return beta, 0.0
        given = c.gamma
        return beta, best_share(lambda gammas: [self._blended(X, scored, beta, g, 5) for g in gammas], valid.Y, given)

    def _scored(self, v: Array) -> Scored:
        """The shortlist with the classifiers' logits and the cosines to centroids."""
        places = self.search_.shortlist(v)
        return Scored(places, self.network_.logits(v, places), self.search_.cosines(v, places))

    def _blended(self, X: sp.csr_matrix, scored: Scored, beta: float, gamma: float, k: int) -> Ranking:
        """The re-ranker scores what is ranked first without it; to the others it gives nothing."""
        scores = fused(scored, beta)
        if self.reranker_ is not None and gamma:
            scores = self.reranker_.joined(X, scored.places, scores, gamma)
        return ranked(self.labels_, scored.places, scores, k)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        def rank(block: sp.csr_matrix) -> list[Ranking]:
            return [self._blended(block, self._scored(self.network_.first(block)), self.beta_, self.gamma_, k)]

        return fill_blank(rank_blocks(X, rank)[0], self.priors_)

    # -- state

    def state(self) -> State:
        precision, reranker = self.config.precision, self.reranker_
        arrays, facts = self.search_.state(precision)
        arrays |= {"labels": self.labels_, "priors": self.priors_, **under("network", self.network_.state(precision))}
        arrays |= {} if reranker is None else under("reranker", reranker.network.state(precision))
        return State(arrays, {**facts, "beta": self.beta_, "gamma": self.gamma_, "reranker": int(bool(self.reranker_))})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        c = self.config
        self.beta_, self.gamma_ = (state.fact(name, low=0, high=1) for name in ("beta", "gamma"))
        self.priors_, self.labels_ = state.array("priors", shape=(n_labels,)), state.array("labels", ndim=1)
        check_label_ids(self.labels_, n_labels)
        sizes = n_features, len(self.labels_), c.dim
        self.search_ = TwoSearches.restored(state, *sizes[1:])
        self.network_ = ClassifierNetwork.restored(state, "network", _encoder(c, 0), sizes)
        self.reranker_ = None
        if state.fact("reranker", low=0, high=1):
            network = ClassifierNetwork.restored(state, "reranker", _encoder(c, 0), sizes)
            self.reranker_ = Reranker(network, min(c.mistakes, sizes[1]))


def _encoder(c: AstecConfig, seed: int) -> ResidualEncoder:
    return ResidualEncoder(c.dim, c.dropout, torch.Generator().manual_seed(seed), relu=True, bound=c.bound)
