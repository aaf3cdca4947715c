"""LightDXML: label embeddings find the hard labels, one-vs-all classifiers are trained on those, in cycles.

Mishra, Dasgupta, Jawanpuria, Mishra, Kumar: Light-weight Deep Extreme Multilabel Classification. IJCNN 2023.

Algorithm 1                                                                          here
Step 1  x_i = TF-IDF weighted sum of token embeddings, then Z^x                      `_start`, `encode`
Step 2  z_j = ReLU(W2 (W1 mu_j + b1) + b2), mu_j = mean of label j's x_i    Eq. 4-5  `LabelEncoder`
        L_l = 1/N sum over positives of log(1 + ||x_i - z_j||^2)            Eq. 2    `Cycles.embed`
Step 3  S_k(x_i) = the k labels of largest cos(x_i, z_j)                    Eq. 6    `Cycles.shortlist`
Step 4  sum over j in P_i and S_k(x_i) of BCE(w_j . x_i, y_ij)       Eq. 3, 7-8      `objective`
Step 5  steps 2 to 4 again every ^e_label epochs, step 2 and 3 after the last        `_trainer`, `_finish`
Step 6  beta s(w_j . x_i) + (1 - beta) s(cos(x_i, z_j)), j in S_k(x_i)      Sec. F   `predict`

What the paper leaves open, and the value here (docs/methods/lightdxml.md has the measurements):
- Z^x is a residual block, x = h + ReLU(R h + c) with h = bag + b and dropout. h = ReLU(bag + b), as in Astec, is
  `point_relu`; it cost 9 points of P@1 on debian-deps (6,000 points), because all cosines are large then.
- Tokens start from latent semantic analysis of train (`tokens`), because FastText's vectors are no part of the data: a
  point of P@1 better than random ones on debian-tags (4,000 points). `tokens=file` reads a .vec file. The optimiser is
  Adam with a linearly falling rate. The batch follows the size of train.
- The label encoder starts as the identity (`label_start`): the centroid nearly minimises Eq. 2 already. A random start
  with ten times the rate cost 3 points of P@1 on delicious, and gained 1.7 of PSP@1 on debian-deps (6,000 points).
- k is 100 log L within the paper's 400 to 700: 700 instead of 413 gave 1.8 points of P@1 on delicious.
- Step 5 goes by P@1 of the classifiers on held-out points. The last epoch that equals the best but for chance is kept.
- S_k(x_i) is searched by IVF-PQ at prediction from 20,000 labels on (`index`): HNSW takes 1.9 ms a document on
  debian-deps, and scoring all labels 0.5 ms. The shortlist costs 1.5 points of P@1 there.
Deviations: a classifier's last weight is its bias, which starts at the label's log-odds. Labels without a training
point are left out.
Beyond the paper, off by default: `relu=false` (label codes with negative numbers), `centre` (cosines seen from the mean
point), `n_head` (frequent labels join every shortlist), `score_all`, `keep`, `precision`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel import config as declared
from zipfel.config import param
from zipfel.index import build_index
from zipfel.kernels.bag import encode_bag
from zipfel.losses.bce import pair_bce
from zipfel.methods.base import Method, Points, State, under
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.metrics import evaluate
from zipfel.nn.bag import bag
from zipfel.nn.classifier_network import log_odds_classifiers
from zipfel.nn.encoder import LabelEncoder, ResidualEncoder
from zipfel.nn.pairs import Pairs, pair_scores
from zipfel.nn.score import with_constant
from zipfel.nn.table import Table
from zipfel.nn.tokens import token_table
from zipfel.nn.weights import read_weights, weights
from zipfel.quantize import PRECISIONS, pack_table, rounded, unpack_table
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.training import Batch, Batches, Plan, Trainer
from zipfel.training.batches import batch_size
from zipfel.training.cycles import Cycles
from zipfel.training.held_out import chance, hold_out, sample
from zipfel.training.shortlist import Ids, ShortlistScorer, best_share, fused, rank_blocks, ranked

Array = npt.NDArray[np.float32]
LAST = 1_000_000
"""The cycle after the last epoch, for draws of its own."""


@dataclass(frozen=True)
class LightDXMLConfig(declared.Config):
    """Defaults cite Table V; "open" marks what the paper does not say."""

    dim: int = param(300, "numbers in a code (IV.A: FastText's)", symbol="D", low=2)
    epochs: int = param(16, "epochs of the classifiers (Table V: 16-21)", symbol="e_model", low=1)
    batch: int | None = param(None, "points a step (open); none: what makes 32 steps an epoch, 16 to 256", low=1)
    lr: float = param(0.007, "Adam's rate at the start (Table V: 0.006-0.009), falling linearly to 0", low=1e-6)
    label_epochs: int = param(6, "epochs of the label encoder in a cycle (Table V: 4-8)", symbol="e_label", low=0)
    relabel_every: int = param(8, "epochs between cycles (Table V: 4-9)", symbol="^e_label", low=1)
    label_lr: float = param(3e-4, "Adam's rate of the label encoder (open)", low=1e-6)
    label_start: str = param("identity", "how the label encoder starts (open)", choices=("identity", "random"))
    shortlist: int | None = param(
        None, "labels shortlisted a point (IV.E: 400-700); none: 100 log L", symbol="k", low=1
    )
    beta: float | None = param(
        None, "weight of the classifiers (Table V); none: by held-out points", symbol="beta", low=0, high=1
    )
    dropout: float = param(0.5, "dropout in the residual block (open)", low=0, high=0.95)
    keep: float = param(1.0, "share of a point's tokens kept in training, beyond the paper", low=0.01, high=1)
    relu: bool = param(True, "label codes without negative numbers (Eq. 4)")
    point_relu: bool = param(False, "points without negative numbers, as Astec's (open)")
    centre: bool = param(False, "cosines are seen from the mean point, beyond the paper")
    n_head: int = param(0, "most frequent labels, which join every shortlist, beyond the paper", low=0)
    score_all: bool = param(False, "prediction scores all labels instead of the shortlist, beyond the paper")
    tokens: str = param("corpus", "first token embeddings (IV.A: FastText)", choices=("random", "corpus", "file"))
    vectors: str | None = param(None, "a .vec file of word vectors, for tokens=file")
    index: str = param("auto", "how labels are searched (IV.C: hnsw)", choices=("auto", "exact", "hnsw", "ivfpq"))
    precision: str = param("float32", "how the tables are saved", choices=PRECISIONS)
    patience: int | None = param(None, "epochs without a better held-out P@1 after which training stops", low=1)
    valid_share: float = param(0.05, "share of train held out where no validation data are given", low=0.01, high=0.5)

    def k(self, n_labels: int) -> int:
        """k = O(log L), within the paper's 400 to 700, and no more than there are."""
        return min(n_labels, self.shortlist or int(np.clip(100 * math.log(max(2, n_labels)), 400, 700)))

    def batch_for(self, n_points: int) -> int:
        return self.batch or batch_size(n_points)


def _table_v(beta: float, k: int, lr: float, epochs: int, label_epochs: int, every: int) -> dict[str, Any]:
    names = ("beta", "shortlist", "lr", "epochs", "label_epochs", "relabel_every")
    return dict(zip(names, (beta, k, lr, epochs, label_epochs, every), strict=True))


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "best": {"precision": "int8"},
    "eurlex-4k": _table_v(0.75, 500, 0.006, 16, 8, 8),
    "amazoncat-13k": _table_v(1.0, 500, 0.007, 21, 4, 4),
    "wiki10-31k": _table_v(0.60, 600, 0.009, 21, 8, 6),
    "wikiseealsotitles-350k": _table_v(0.1, 500, 0.008, 21, 6, 7),  # Table III's name; Table V calls it WT-320K
    "amazontitles-670k": _table_v(1.0, 650, 0.007, 21, 6, 9),
}


class LightDXML(Method):
    """Label embeddings shortlist, one-vs-all classifiers decide; both are trained in cycles."""

    name: ClassVar[str] = "lightdxml"
    title: ClassVar[str] = "LightDXML: label embeddings shortlist, one-vs-all classifiers decide, trained in cycles"
    paper: ClassVar[str] = "Mishra et al.: Light-weight Deep Extreme Multilabel Classification. IJCNN 2023"
    by_workers: ClassVar[str] = "network"
    Config = LightDXMLConfig
    config: LightDXMLConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = PRESETS

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        if valid is None:
            train, valid = hold_out(train, self.config.valid_share, run.rng(4))
        self.priors_ = label_priors(train.Y)
        labels = np.unique(train.Y.indices).astype(np.int64) if train.Y.nnz else np.arange(train.n_labels)
        self.k_, known = self.config.k(len(labels)), Points(train.X, train.Y[:, labels])
        with run.timed("step 1: tokens"):
            self._start(known, labels, run)
        cycles = self._cycles(known, run)
        with run.timed("step 4: classifiers"):
            history = self._trainer(known, valid, cycles, run).fit()
        run.timings["step 4: classifiers"] -= cycles.seconds
        self.facts_ = {"best_epoch": history.best_epoch, "stopped": history.stopped, "cycles": cycles.facts}
        self._finish(cycles, run)
        with run.timed("step 6: beta"):
            self.beta_ = best_share(lambda betas: self._ranked(valid.X, betas, 5), valid.Y, self.config.beta)

    # -- step 1

    def _start(self, train: Points, labels: Ids, run: Run) -> None:
        """Token embeddings, the encoder, and classifiers that know how frequent their label is, and no more."""
        c, classifiers = self.config, log_odds_classifiers(train.Y, self.config.dim)
        tokens = token_table(train.X, c.dim, run.rng(1), kind=c.tokens, path=c.vectors, names=run.feature_names)
        self.tables_ = {"features": Table(tokens), "labels": Table(classifiers)}
        self.tokens_ = self.tables_["features"].numpy()
        draw = torch.Generator().manual_seed(int(run.rng(2).integers(2**62)))
        self.encoder_ = ResidualEncoder(c.dim, c.dropout, draw, relu=c.point_relu)
        counts = np.bincount(train.Y.indices, minlength=len(labels))
        head = np.argsort(-counts, kind="stable")[: c.n_head].astype(np.int64)
        nothing = np.zeros(c.dim, dtype=np.float32)
        self.scorer_ = ShortlistScorer(classifiers, np.zeros_like(classifiers), nothing, labels, head)

    def encode(self, X: sp.csr_matrix) -> Array:
        """(n, d) representations Z^x."""
        self.encoder_.eval()
        with torch.no_grad():
            hidden: Array = self.encoder_(torch.from_numpy(encode_bag(X, self.tokens_))).numpy()
        return hidden

    # -- steps 2 to 5

    def _cycles(self, train: Points, run: Run) -> Cycles:
        """Steps 2 and 3, as often as they are asked for."""
        c, draw = self.config, torch.Generator().manual_seed(int(run.rng(6).integers(2**62)))
        encoder = LabelEncoder(c.dim, relu=c.relu, start=c.label_start, generator=draw)
        return Cycles(
            self.encode, encoder, train, run,
            epochs=c.label_epochs, lr=c.label_lr, k=self.k_, index=c.index, head=self.scorer_.head, centred=c.centre,
        )  # fmt: skip

    def _trainer(self, train: Points, valid: Points, cycles: Cycles, run: Run) -> Trainer:
        c, checked = self.config, sample(valid)

        def before(epoch: int) -> None:
            if epoch % c.relabel_every == 0:
                points, codes, mean = cycles.embed(epoch)
                cycles.shortlist(points, codes, mean, epoch)

        batches = Batches(
            train.X, train.Y, size=c.batch_for(train.n_points), seed=run.seed, keep=c.keep, extend=cycles.extend
        )
        plan = Plan(epochs=c.epochs, lr=c.lr, patience=c.patience, tolerance=chance(checked))
        return Trainer(
            run, batches, self.objective, plan, tables=self.tables_, module=self.encoder_, before_epoch=before,
            validate=lambda: self._p_at_1(checked), kept={"shortlists": cycles}, name=self.name,
        )  # fmt: skip

    def objective(self, batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        """Eq. 7-8: for each point its positives and its shortlist."""
        pairs: Pairs = batch.extra["pairs"]
        hidden = self.encoder_(bag(rows["features"], batch.X))  # (B, d)
        logits = pair_scores(with_constant(hidden), rows["labels"], pairs)  # (m,)
        return pair_bce(logits, pairs.truth, len(batch))

    def _p_at_1(self, points: Points) -> float:
        """Of the classifiers, over all labels."""
        codes = with_constant(torch.from_numpy(self.encode(points.X))).numpy()
        every = build_index(self.tables_["labels"].numpy(), self.scorer_.labels, metric="inner", kind="exact")
        return evaluate(Ranking(*every.search(codes, 1)), points.Y, ks=(1,))["P@1"]

    def _finish(self, cycles: Cycles, run: Run) -> None:
        """Steps 2 and 3 once more, for the representations of the epoch that is kept."""
        c = self.config
        points, codes, mean = cycles.embed(LAST)
        self.tokens_ = rounded(self.tokens_, c.precision)
        classifiers, codes = (rounded(table, c.precision) for table in (self.tables_["labels"].numpy(), codes))
        del self.tables_
        with run.timed("step 3: shortlists"):
            found = ShortlistScorer(classifiers, codes, mean, self.scorer_.labels, self.scorer_.head)
            limit = len(codes) if c.score_all else 0
            self.scorer_ = found.indexed(limit, c.index, points, self.k_, run.seed)

    # -- step 6: predict

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        return fill_blank(self._ranked(X, [self.beta_], k)[0], self.priors_)

    def _ranked(self, X: sp.csr_matrix, betas: Sequence[float], k: int) -> list[Ranking]:
        """Section F, with each beta."""

        def rank(block: sp.csr_matrix) -> list[Ranking]:
            found = self.scorer_.shortlist(self.encode(block), self.k_)
            return [ranked(self.scorer_.labels, found.places, fused(found, beta), k) for beta in betas]

        return rank_blocks(X, rank)

    # -- state

    def state(self) -> State:
        arrays, index = self.scorer_.state(self.config.precision)
        arrays |= under("encoder", weights(self.encoder_))
        arrays |= {**pack_table("tokens", self.tokens_, self.config.precision), "priors": self.priors_}
        return State(arrays, {"index": index, "beta": self.beta_, "k": self.k_, "training": self.facts_})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        c, facts = self.config, state.facts
        self.beta_, self.k_ = state.fact("beta", low=0, high=1), int(min(state.fact("k", low=1), n_labels))
        self.facts_, self.priors_ = dict(facts["training"]), state.array("priors", shape=(n_labels,))
        self.scorer_ = ShortlistScorer.restored(state.arrays, facts["index"], n_labels, c.dim, c.n_head)
        self.tokens_ = unpack_table("tokens", state.arrays, n_features, c.dim)
        self.encoder_ = ResidualEncoder(c.dim, 0.0, torch.Generator(), relu=c.point_relu)
        read_weights(self.encoder_, state, "encoder")
