"""GLaS: unit vectors for documents and labels, the labels' Gram matrix held to their co-occurrence.

Guo et al.: Breaking the Glass Ceiling for Embedding-Based Classifiers for Large Output Spaces, NeurIPS 2019.

Algorithm 2                                                                          here
line 11  a batch of B rows                                                           `Batches(size=B)`
line 12  y_1 .. y_B, one label drawn from each row                                   `LabelDraws`
line 13  x_i <- x_i o Bernoulli(rho, D)                                  Sec. 3.3    `Batches(keep=rho)`
line 14  1/B sum_i l(phi(x_i)'V, y_i), h = g phi'V, |phi| = |v| = 1      Sec. 3.1    `objective`, `UnitEncoder`
         l = sum over y' not in L_y of [h_y' - h_y + c]_+                Eq. 1       `losses.margin`
         or the same over the top-scoring y' (Reddi et al. 2019), or softmax         `losses.margin`, `losses.softmax`
line 16  U = (A Z^-1 + Z^-1 A) / 2 between y_1 .. y_B, A = Y'Y           Eq. 3       `regularizers.affinity`
line 18  + lambda |V'V - U|^2 / B^2, V = [v_y1 .. v_yB]                  Eq. 3       `regularizers.gram.glas`
         or spread-out (Eq. 2), or gravity (Krichene et al. 2018)                    `regularizers.gram`
line 20  update w and V; until held-out P@1 ceases to improve            Sec. 4      `Trainer`, Adam

Repeated labels of line 12 count as often as they were drawn. U is of the whole training set.

What the paper leaves open, and the value here (docs/methods/glas.md has the measurements):
- Negatives of Eq. 1: labels of the batch's rows and `sampled` further ones. The loss is softmax where points have ten
  labels or more, as for Delicious-200K.
- Batch and epochs follow the size of train: 4,096 rows a step would mean a few dozen steps here. d is 512, for time.
Deviations: weight normalisation of the first layer takes the columns' lengths at the beginning of each epoch. Dropout
divides the kept features by rho, which the unit length takes back but for the bias.
Beyond the paper, off by default: `average`, `positives=all` with softmax, `tokens=corpus` and `start=centroid` (first
vectors), `dropout` (of the code), `rarity` (r of -r log(N_l / N), added to label l's score), `precision`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from zipfel import config as declared
from zipfel.config import param
from zipfel.errors import ModelFileError
from zipfel.index.choice import mean_precision
from zipfel.kernels.bag import encode_bag
from zipfel.losses.margin import pairwise_margin, sampled_margin, stochastic_negative_mining
from zipfel.losses.softmax import softmax_cross_entropy
from zipfel.methods.base import Method, Points, State
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.nn.bag import bag
from zipfel.nn.table import Table
from zipfel.nn.tokens import token_table
from zipfel.nn.unit import UnitEncoder, UnitSpace, centroid_start
from zipfel.quantize import PRECISIONS
from zipfel.ranking import Ranking
from zipfel.regularizers.affinity import AFFINITIES
from zipfel.regularizers.gram import glas, gravity, spread_out
from zipfel.run import Run
from zipfel.training import Batch, Batches, CandidateSampler, Plan, Trainer
from zipfel.training.batches import batch_size
from zipfel.training.held_out import chance, hold_out, sample
from zipfel.training.label_draws import LabelDraws

LOSSES, REGULARIZERS = ("margin", "mining", "softmax"), ("glas", "spread_out", "gravity", "none")
_GAP_SAMPLE = 2000
"""Training points that the generalisation gap is measured on."""
_MANY_LABELS = 10
"""Labels a point from which on the loss is softmax (Sec. 4: Delicious-200K has 75; the others at most 5.4)."""


@dataclass(frozen=True)
class GlasConfig(declared.Config):
    """Defaults cite Table 1, the base of AmazonCat-13K; "open" marks what the paper does not say."""

    dim: int = param(512, "numbers in a code (Table 1: 256-1024)", symbol="d", low=1)
    activation: str = param("relu", "of the embedding map (Table 1)", choices=("relu", "linear"))
    weight_norm: bool = param(True, "weights of the first layer have one length (3.1)")
    loss: str | None = param(None, "none: margin; from 10 labels a point on softmax (Sec. 4)", choices=LOSSES)
    positives: str = param("one", "labels of a row in a step (Alg. 2: one; Eq. 1: all)", choices=("one", "all"))
    sampled: int | None = param(2000, "labels drawn for a batch beside its own (open); none: all labels", low=0)
    margin: float = param(1.0, "by which a relevant label must lead (open)", symbol="c", low=0)
    average: bool = param(False, "divide Eq. 1's sum by its number of pairs; the paper does not")
    hardest: int = param(20, "negatives that mining keeps (open)", low=1)
    regularizer: str = param("glas", "of the label vectors (Table 1)", choices=REGULARIZERS)
    weight: float = param(10.0, "of the regulariser (Table 1)", symbol="lambda", low=0)
    affinity: str = param("arithmetic", "what GLaS holds the Gram matrix to (3.2)", choices=AFFINITIES)
    keep: float = param(0.8, "share of a row's features that dropout keeps (Table 1)", symbol="rho", low=0.01, high=1)
    length: float = param(10.0, "g at the start of training (open)", symbol="g", low=0.01)
    batch: int | None = param(None, "rows a step (Table 1: 4,096); none: for 32 steps an epoch", symbol="B", low=1)
    epochs: int = param(20, "passes over train at most (Sec. 4: 10, over sets 40 times as large)", low=1)
    lr: float = param(2e-3, "Adam's rate at the start, falling linearly to 0 (open)", symbol="eta", low=1e-6)
    patience: int | None = param(3, "epochs without a better held-out P@1 before training stops (Sec. 4)", low=1)
    valid_share: float = param(0.04, "share of train to hold out where no validation set is given", low=0.001, high=0.5)
    tokens: str = param("random", "first feature vectors", choices=("random", "corpus"))
    start: str = param("random", "first label vectors", choices=("random", "centroid"))
    dropout: float = param(0.0, "of the code's numbers, before it is normalised, beyond the paper", low=0, high=0.95)
    rarity: float = param(0.0, "r of -r log(N_l / N), beyond the paper", symbol="r", low=0, high=2)
    precision: str = param("float32", "how the vectors are kept", choices=PRECISIONS)

    removed: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("votes", "sparse", "neighbors", "candidates", "tail", "networks"),
        "use --preset thorough of method auto, which joins this network with the words",
    )

    def batch_for(self, n_points: int) -> int:
        return self.batch or batch_size(n_points, 4096)

    def loss_for(self, labels_per_point: float) -> str:
        return self.loss or ("softmax" if labels_per_point >= _MANY_LABELS else "margin")

    def encoder(self) -> UnitEncoder:
        """phi, untrained."""
        relu = self.activation == "relu"
        return UnitEncoder(self.dim, relu=relu, weight_norm=self.weight_norm, dropout=self.dropout, length=self.length)


_LARGE = {"loss": "margin", "dim": 512, "batch": 4096, "epochs": 10}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "best": {
        "loss": "softmax", "positives": "all", "weight_norm": False, "tokens": "corpus", "start": "centroid",
        "keep": 0.6, "dropout": 0.4, "length": 20.0, "rarity": 0.1, "lr": 3e-3, "precision": "int8",
    },
    "amazoncat-13k": {**_LARGE, "dim": 1024},
    **dict.fromkeys(("amazon-670k", "wikilshtc-325k", "wikipedia-500k"), _LARGE),
    "delicious-200k": {**_LARGE, "loss": "softmax"},
    "eurlex-4k": {"loss": "margin", "sampled": None},
}  # fmt: skip


class Glas(Method):
    """Unit vectors for documents and labels; labels that go together stand together."""

    name: ClassVar[str] = "glas"
    title: ClassVar[str] = "GLaS: label vectors whose Gram matrix follows the labels' co-occurrence"
    paper: ClassVar[str] = "Guo et al.: Breaking the Glass Ceiling for Embedding-Based Classifiers, NeurIPS 2019"
    by_workers: ClassVar[str] = "network"
    Config = GlasConfig
    config: GlasConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = PRESETS

    # -- the objective: Algorithm 2, lines 14 to 18

    def objective(self, batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        phi = self.encoder_(bag(rows["features"], batch.X))  # (B, d)
        V = normalize(rows["labels"], dim=1)  # (c, d)
        h = self.encoder_.length * (phi @ V.T)  # (B, c)
        loss = self._loss(h, batch)
        if self.config.regularizer == "none":
            return loss
        return loss + self.config.weight * self._penalty(phi, V, batch)

    def _loss(self, h: Tensor, batch: Batch) -> Tensor:
        c, found, one = self.config, batch.candidates, batch.extra["one"]
        assert found is not None
        relevant = found.targets(len(batch))  # (B, c)
        if self.loss_ == "softmax":
            mine = relevant if c.positives == "all" else torch.zeros_like(relevant).scatter(1, one[:, None], 1.0)
            return softmax_cross_entropy(h, mine / mine.sum(dim=1, keepdim=True).clamp(min=1), found.inclusion.log())
        if self.loss_ == "margin" and c.positives == "all":
            return pairwise_margin(h, relevant, c.margin, average=c.average)
        positive = h.gather(1, one[:, None])[:, 0]
        if self.loss_ == "margin":
            return sampled_margin(positive, h, relevant == 0, c.margin, average=c.average)
        return stochastic_negative_mining(positive, h, relevant == 0, c.margin, c.hardest)

    def _penalty(self, phi: Tensor, V: Tensor, batch: Batch) -> Tensor:
        """Line 18, of the B drawn labels: the distinct ones, `counts` times each."""
        mine, counts = V[batch.extra["distinct"]], batch.extra["counts"]
        if self.config.regularizer == "glas":
            return glas(mine, batch.extra["U"], counts)
        return spread_out(mine, counts) if self.config.regularizer == "spread_out" else gravity(phi, mine, counts)

    # -- fit: the network, stopped by held-out points; its generalisation gap

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        c = self.config
        if valid is None:
            train, valid = hold_out(train, c.valid_share, run.rng(20))
        valid = valid.within(train.n_labels)
        self.priors_, self.loss_ = label_priors(train.Y), c.loss_for(train.Y.nnz / max(1, train.n_points))
        with run.timed("training"):
            self._train(train, sample(valid), run)
        some = train.take(np.sort(run.rng(23).permutation(train.n_points)[:_GAP_SAMPLE]))
        on_train, held_out = self._p_at_1(some), self._p_at_1(valid)
        self.gap_ = {"train P@1": on_train, "valid P@1": held_out, "gap": on_train - held_out}  # Table 2

    def _train(self, train: Points, checked: Points, run: Run) -> None:
        c, tables = self.config, self._tables(train, run)

        def validate() -> float:
            self.space_ = self._space(tables)
            return self._p_at_1(checked)

        plan = Plan(epochs=c.epochs, lr=c.lr, schedule="linear", patience=c.patience, tolerance=chance(checked))
        Trainer(
            run, self._batches(train, run), self.objective, plan, tables=tables, module=self.encoder_,
            validate=validate, name="glas", before_epoch=lambda _: self.encoder_.measure(tables["features"].weights),
        ).fit()  # fmt: skip
        self.space_ = self._space(tables).rounded()

    def _tables(self, train: Points, run: Run) -> dict[str, Table]:
        """The vectors of features and labels, and the encoder beside them, as training begins."""
        c = self.config
        features = token_table(train.X, c.dim, run.rng(21, 0), kind=c.tokens)
        features[np.bincount(train.X.indices, minlength=train.n_features) == 0] = 0
        self.encoder_ = c.encoder()
        self.encoder_.measure(torch.from_numpy(features))
        labels = Table.normal(train.n_labels, c.dim, c.dim**-0.5, run.rng(22))
        if c.start == "centroid":
            centroid_start(labels.numpy(), self.encoder_.codes(encode_bag(train.X, features)), train.Y)
        return {"features": Table(features), "labels": labels}

    def _batches(self, train: Points, run: Run) -> Batches:
        c = self.config
        everything = train.n_labels if c.sampled is None else 0
        sampler = CandidateSampler(train.Y, n_sampled=c.sampled or 0, n_hard=0, all_below=everything)
        rows = np.flatnonzero((np.diff(train.Y.indptr) > 0) & (np.diff(train.X.indptr) > 0))
        draws = LabelDraws(train.Y, c.affinity if c.regularizer == "glas" else None)
        return Batches(
            train.X, train.Y, size=c.batch_for(train.n_points), seed=run.seed, candidates=sampler, keep=c.keep,
            rows=rows, extend=draws,
        )  # fmt: skip

    def _space(self, tables: Mapping[str, Table]) -> UnitSpace:
        """The map and the labels seen, with -r log(N_y / N)."""
        seen = np.flatnonzero(self.priors_)
        labels, bonus = tables["labels"].numpy()[seen], np.float32(-self.config.rarity) * np.log(self.priors_[seen])
        return UnitSpace.of(tables["features"].weights, self.encoder_, labels, bonus, seen, self.config.precision)

    def _p_at_1(self, points: Points) -> float:
        return mean_precision(self.predict(points.X, 1), points.Y, (1,))

    # -- predict: encode, then maximum inner product search (Sec. 4)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        codes = self.space_.encode(X)  # (n, d)
        return fill_blank(self.space_.search(codes, k), self.priors_, np.logical_not(codes.any(axis=1)))

    # -- state

    def state(self) -> State:
        arrays, index = self.space_.state()
        return State({**arrays, "priors": self.priors_}, {"index": index, "gap": self.gap_, "loss": self.loss_})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        self.priors_ = state.array("priors", shape=(n_labels,))
        try:
            index, self.gap_ = dict(state.facts["index"]), dict(state.facts["gap"])
            self.loss_, encoder, shape = str(state.facts["loss"]), self.config.encoder(), (n_features, n_labels)
            self.space_ = UnitSpace.restored(encoder, state, index, shape, self.config.precision)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the model's facts are damaged: {error}") from None
