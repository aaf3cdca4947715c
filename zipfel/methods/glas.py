"""GLaS: unit vectors for documents and labels, the labels' Gram matrix held to their co-occurrence.

Guo et al.: Breaking the Glass Ceiling for Embedding-Based Classifiers for Large Output Spaces, NeurIPS 2019.

    h(x)_y = g <phi(x), v_y>, |phi| = |v_y| = 1, one length g                      Sec. 3.1   `_Network`
    phi(x) = W x or ReLU(W x + b), with each feature kept with probability rho     Sec. 3.3   `_Network.encode`
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
- Two networks are trained side by side on the same batches, and their scores averaged; `networks` = 1 is the paper's.
- The code's numbers are dropped at random too, before it is normalised (`dropout`), beside the paper's input dropout.
- What is kept is rounded to int8 with a scale for each row; `precision` = float32 keeps all of it.
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
from torch import Tensor, nn
from torch.nn.functional import normalize

from zipfel import config as declared
from zipfel.config import param
from zipfel.errors import ModelFileError
from zipfel.index import build_index, load_index
from zipfel.index.base import unit_rows
from zipfel.losses.margin import sampled_margin, stochastic_negative_mining
from zipfel.losses.softmax import softmax_cross_entropy
from zipfel.methods.base import Method, Points, State
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.metrics import evaluate
from zipfel.nn.bag import bag, encode_bag
from zipfel.nn.quantize import PRECISIONS, pack_table, rounded, unpack_table
from zipfel.nn.table import Table
from zipfel.nn.tokens import token_table
from zipfel.ranking import PAD, Ranking
from zipfel.regularizers.affinity import AFFINITIES, label_affinity
from zipfel.regularizers.gram import glas, gravity, spread_out, submatrix
from zipfel.run import Run
from zipfel.training import Batch, Batches, CandidateSampler, Plan, Trainer

Vectors = npt.NDArray[np.float32]
_GAP_SAMPLE, _FEW = 2000, 20
"""Training points that the generalisation gap is measured on; points below which none is held out."""


@dataclass(frozen=True)
class GlasConfig(declared.Config):
    """Defaults cite Table 1 of the paper where they are its own."""

    dim: int = param(256, "numbers in a code (Table 1: 256-1024)", symbol="d", low=1)
    networks: int = param(2, "trained side by side, their scores averaged; the paper has one", low=1, high=16)
    activation: str = param("relu", "of the embedding map (Table 1)", choices=("relu", "linear"))
    loss: str = param("softmax", "over sampled candidates", choices=("softmax", "margin", "mining"))
    positives: str = param("all", "labels of a row that count in a step (Alg. 2: one)", choices=("all", "one"))
    sampled: int | None = param(1500, "labels drawn for a batch beside its own; none: all labels", low=0)
    margin: float = param(1.0, "by which a relevant label must lead", symbol="c", low=0)
    hardest: int = param(20, "negatives that mining keeps", low=1)
    regularizer: str = param("glas", "of the label vectors", choices=("glas", "spread_out", "gravity", "none"))
    weight: float = param(10.0, "of the regulariser (Table 1)", symbol="lambda", low=0)
    affinity: str = param("arithmetic", "what GLaS holds the Gram matrix to (Sec. 3.2)", choices=AFFINITIES)
    keep: float = param(0.6, "share of a row's features that dropout keeps (Table 1)", symbol="rho", low=0.01, high=1)
    dropout: float = param(0.4, "of the code's numbers, before it is normalised", low=0, high=0.95)
    tokens: str = param(
        "corpus", "first feature vectors (corpus: of the rows of X by LSA)", choices=("corpus", "random")
    )
    start: str = param("centroid", "first label vectors", choices=("centroid", "random"))
    length: float = param(20.0, "g at the start of training", symbol="g", low=0.01)
    rarity: float = param(0.1, "r of -r log(N_l / N), added to the score of label l", symbol="r", low=0, high=2)
    epochs: int = param(6, "passes over train at most (Sec. 4)", low=1)
    batch: int = param(512, "rows a step (Table 1: 1024-4096)", symbol="B", low=1)
    lr: float = param(3e-3, "Adam's rate at the start, falling linearly to 0", symbol="eta", low=1e-6)
    patience: int | None = param(None, "epochs without a better validation P@1 before training stops", low=1)
    valid_share: float = param(0.03, "share of train to hold out where no validation set is given", low=0.001, high=0.5)
    precision: str = param("int8", "how the vectors are kept", choices=PRECISIONS)


class _Network(nn.Module):
    """phi behind the bag, and the one length g of all label vectors (kept as its logarithm), E times side by side."""

    def __init__(self, config: GlasConfig) -> None:
        super().__init__()
        self.shape, self.relu = (config.networks, config.dim), config.activation == "relu"
        self.dropout = nn.Dropout(config.dropout)
        self.bias = nn.Parameter(torch.zeros(config.networks * config.dim))
        self.log_length = nn.Parameter(torch.full((config.networks,), math.log(config.length)))

    def encode(self, bags: Tensor) -> Tensor:
        """(B, E d) bags W x to phi(x) on the unit sphere: (E, B, d)."""
        return self.unit(self.dropout(torch.relu(bags + self.bias) if self.relu else bags))

    def unit(self, vectors: Tensor) -> Tensor:
        """(n, E d) to (E, n, d), each of unit length."""
        return normalize(vectors.view(len(vectors), *self.shape), dim=2).transpose(0, 1)

    def forward(self, codes: Tensor, V: Tensor) -> Tensor:
        """(E, B, c) scores of codes (E, B, d) for label vectors (E, c, d)."""
        scores: Tensor = self.log_length.exp()[:, None, None] * (codes @ V.transpose(1, 2))
        return scores


class Glas(Method):
    """Unit vectors for documents and labels; labels that go together stand together."""

    name: ClassVar[str] = "glas"
    title: ClassVar[str] = "GLaS: label vectors whose Gram matrix follows the labels' co-occurrence"
    paper: ClassVar[str] = "Guo et al.: Breaking the Glass Ceiling for Embedding-Based Classifiers, NeurIPS 2019"
    Config = GlasConfig
    config: GlasConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"dim": 1024, "batch": 4096, "positives": "one", "loss": "margin", "start": "random"},
        "amazoncat-13k": {"dim": 1024, "batch": 4096, "loss": "margin", "positives": "one"},
        "amazon-670k": {"dim": 512, "batch": 1024, "loss": "mining", "positives": "one"},
        "wikilshtc-325k": {"dim": 512, "batch": 1024, "loss": "mining", "positives": "one"},
        "delicious-200k": {"dim": 512, "batch": 1024, "loss": "softmax"},
        "eurlex-4k": {"dim": 512, "sampled": None},
        "wikipedia-500k": {"dim": 512, "batch": 1024, "loss": "mining", "positives": "one"},
    }

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
        drawn = torch.rand(len(found.rows), generator=batch.generator) + 0.5
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
            return torch.zeros(())
        mine = V[batch.extra["mine"]]  # (b, d), the labels of the batch's rows
        if self.config.regularizer == "glas":
            return glas(mine, batch.extra["U"])
        return spread_out(mine) if self.config.regularizer == "spread_out" else gravity(codes, mine)

    # -- training

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        if valid is not None:
            valid = Points(valid.X, valid.Y[:, : train.n_labels])
        elif train.n_points >= _FEW:
            train, valid = train.split(self.config.valid_share, run.rng(20), at_most=2000)
        c = self.config
        self.priors_ = label_priors(train.Y)
        self.network_ = _Network(c)
        with run.timed("start"):
            tables = self._tables(train, run)
            batches = self._batches(train, run)

        def validate() -> float:
            assert valid is not None
            self._finish(tables)
            return evaluate(self.predict(valid.X, 1), valid.Y, ks=(1,))["P@1"]

        noise = 0.5 / math.sqrt(valid.n_points) if valid is not None and valid.n_points else 0.0  # P@1's error
        plan = Plan(epochs=c.epochs, lr=c.lr, schedule="linear", patience=c.patience, tolerance=noise)
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
        found = {"train P@1": evaluate(self.predict(train.X[rows], 1), train.Y[rows], ks=(1,))["P@1"]}
        if valid is not None:
            found["valid P@1"] = evaluate(self.predict(valid.X, 1), valid.Y, ks=(1,))["P@1"]
            found["gap"] = found["train P@1"] - found["valid P@1"]
        return found

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

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        codes = self._encode(X, self.features_)
        ranking = Ranking(*self.index_.search(np.column_stack([codes, np.ones(len(codes), dtype=np.float32)]), k))
        nothing = np.diff(X.indptr) == 0
        ranking.labels[nothing], ranking.scores[nothing] = PAD, -np.inf
        return fill_blank(ranking, self.priors_)

    # -- state

    def state(self) -> State:
        arrays, facts = self.index_.state()
        own = {f"index.{name}": array for name, array in arrays.items()}
        for name, table in {"features": self.features_, "index.vectors": self.index_.vectors}.items():
            own |= pack_table(name, table, self.config.precision)
        network = {name: tensor.numpy() for name, tensor in self.network_.state_dict().items()}
        return State({**own, "priors": self.priors_, **network}, {"index": facts, "gap": self.gap_})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        c = self.config
        width = c.networks * c.dim
        self.features_ = unpack_table("features", state.arrays, n_features, width)
        self.priors_ = state.array("priors", shape=(n_labels,))
        self.network_ = _Network(c)
        names = {"bias": (width,), "log_length": (c.networks,)}
        self.network_.load_state_dict({n: torch.tensor(state.array(n, shape=shape)) for n, shape in names.items()})
        parts = state.part("index")
        parts["vectors"] = unpack_table("vectors", parts, len(state.array("index.ids", ndim=1)), width + 1)
        try:
            self.gap_, facts = dict(state.facts["gap"]), dict(state.facts["index"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the model's facts are damaged: {error}") from None
        self.index_ = load_index(parts, facts)
