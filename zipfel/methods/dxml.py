"""DXML: label graph, DeepWalk, a network into the label space, neighbours in a cluster (Zhang et al. 2018).

Labels get vectors V from random walks over the graph of labels that occur together; a label set's code is the mean of
its labels' vectors; a network learns to send a document there; a new document takes the labels of its neighbours.

    f_y = V y / nnz(y)                                        Algorithm 1, line 3    `Dxml._targets`
    f_x = L2-norm(dropout(W2 relu(W1 x)))                     Figure 1               `Network`
    d(x, y) = sum_j h((f_x)_j, (f_y)_j), smooth L1            Eq. 1-3                `losses.smooth_l1`
    Z^1 ... Z^m: k-means of f_X                               Algorithm 1, line 5    `index.clusters`
    nearest cluster, k neighbours in it, their labels summed  Eq. 4, Algorithm 2     `Dxml.predict`

Deviations; docs/methods/dxml.md has what they are worth:
- The default loss is InfoNCE against the batch's targets, centred and of unit length; `preset="paper"` is smooth L1
  against the plain ones, which a code of unit length can never reach (Adam replaces SGD in both).
- Edges weigh as many points as their labels share, and each label has, beside its place in the graph, `own_dim`
  numbers of a direction drawn for it alone: labels that always go together would else get one and the same vector.
- Input dropout (`keep`) is new, and three networks stand side by side, their cosines averaged; `networks` = 1 is the
  paper's.
- k, how sharply near neighbours outweigh far ones, and how many clusters are searched are chosen on held-out points;
  then all is trained again on everything. Points without labels have no vote and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from zipfel import config as declared
from zipfel.config import param
from zipfel.errors import ModelFileError
from zipfel.graph import LabelGraph, deepwalk, ppmi_svd, random_vectors
from zipfel.index.base import unit_rows
from zipfel.index.choice import NEIGHBOURS, SHARPNESS, VoteRule
from zipfel.index.cluster_votes import ClusterVotes
from zipfel.index.clusters import Clusters
from zipfel.losses.infonce import info_nce
from zipfel.losses.smooth_l1 import smooth_l1
from zipfel.methods.base import Method, Points, State, pack_csr, unpack_csr
from zipfel.nn.bag import bag, encode_bag
from zipfel.nn.table import Table
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.training import Batch, Batches, Plan, Trainer

Floats = npt.NDArray[np.float32]
_BOTH = ("relu", "linear")
_STEPS, _FEW = 600, 10
"""Training steps that are taken at least; points below which none is held out."""


@dataclass(frozen=True)
class DxmlConfig(declared.Config):
    """Defaults named "paper" are of section 4.1; the others are from docs/methods/dxml.md's tables."""

    dim: int = param(
        100, "numbers in a label's graph vector; the paper has 100, or 300 for large data", symbol="l", low=1
    )
    own_dim: int = param(200, "numbers in a label's own random direction; the paper has none", low=0)
    hidden: int = param(256, "width of the hidden layer; the paper has 256, or 512 for large data", symbol="W1", low=1)
    networks: int = param(3, "networks side by side; the paper has one", low=1, high=16)
    activation: str = param(
        "auto", "between the layers; the paper's is relu; auto: by held-out points", choices=("auto", *_BOTH)
    )
    loss: str = param("infonce", "the paper's is smooth_l1", choices=("infonce", "smooth_l1"))
    temperature: float = param(0.1, "of InfoNCE", low=1e-3)
    targets: str = param("centred", "centred: less their mean, of unit length", choices=("centred", "unit", "plain"))
    vectors: str = param("deepwalk", "where label vectors come from", choices=("deepwalk", "ppmi", "random"))
    edges: str = param("counts", "counts: points in common; the paper's are plain", choices=("counts", "plain"))
    hierarchy: str = param("", "file of `parent child` label ids: the graph, instead of labels that occur together")
    walks: int | None = param(None, "walks from each label; none: 10, or what makes 4 million steps", low=1)
    walk_length: int = param(40, "steps of a walk", low=2)
    window: int = param(2, "steps within which labels are in each other's context", low=1)
    passes: int = param(1, "passes of skip-gram over the walks", low=1)
    keep: float = param(0.6, "share of a row's features that input dropout keeps", low=0.01, high=1)
    dropout: float = param(0.0, "dropout after the last layer, as in the paper", low=0, high=0.95)
    epochs: int | None = param(None, "passes over train; none: 15, or what makes 600 steps, to 30", low=1)
    batch: int = param(256, "rows a step", low=1)
    lr: float = param(3e-3, "Adam's rate at the start, falling linearly to 0", low=1e-6)
    clusters: int | None = param(None, "clusters of the embedded points; none: one for 2,000", symbol="m", low=1)
    probes: int | None = param(None, "clusters to search; the paper has 1; none: by held-out points", low=1)
    n_neighbors: int | None = param(None, "voters; none: by held-out points", symbol="k", low=1)
    sharpness: float | None = param(None, "t of the votes exp(t (cos - best)); none: by held-out points", low=0)
    valid_share: float = param(0.1, "share of train to hold out where no validation set is given", low=0.01, high=0.5)


class Network(nn.Module):
    """Figure 1 behind W1: E networks side by side, from sums of W1's rows to codes of unit length."""

    def __init__(self, activations: Sequence[str], hidden: int, dim: int, dropout: float, start: Floats) -> None:
        """activations: of each network. start: (E, hidden, dim), W2 at the beginning."""
        super().__init__()
        E, self.activations = len(activations), tuple(activations)
        self.bias1 = nn.Parameter(torch.zeros(E, 1, hidden))
        self.W2 = nn.Parameter(torch.from_numpy(start))
        self.bias2 = nn.Parameter(torch.zeros(E, 1, dim))
        self.dropout = nn.Dropout(dropout)

    def forward(self, sums: Tensor) -> Tensor:
        """(E, B, dim) of sums (B, E * hidden) = W1 x."""
        blocks = sums.view(len(sums), *self.W2.shape[:2]).transpose(0, 1) + self.bias1  # (E, B, hidden)
        bent = [torch.relu(b) if a == "relu" else b for a, b in zip(self.activations, blocks, strict=True)]
        return nn.functional.normalize(self.dropout(torch.stack(bent) @ self.W2 + self.bias2), dim=2)


class Dxml(Method):
    """Documents are sent to where their labels are in the label graph; their neighbours there vote."""

    name: ClassVar[str] = "dxml"
    title: ClassVar[str] = "DXML: a network into the space of the label graph, neighbours in a cluster"
    paper: ClassVar[str] = "Zhang, Yan, Wang and Zha: Deep Extreme Multi-label Learning, ICMR 2018"
    Config = DxmlConfig
    config: DxmlConfig
    votes_: ClusterVotes
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "loss": "smooth_l1", "targets": "plain", "edges": "plain", "own_dim": 0, "networks": 1, "hidden": 256,
        },
        "bibtex": {}, "delicious": {}, "mediamill": {},
        "wiki10": {"dim": 300, "networks": 1},
        "delicious-large": {"dim": 300, "networks": 1, "batch": 1024, "epochs": 5},
        "amazon": {"dim": 300, "own_dim": 0, "networks": 1, "batch": 1024, "epochs": 8},
    }  # fmt: skip

    # -- label vectors and targets

    def _label_vectors(self, Y: sp.csr_matrix, seed: int) -> Floats:
        """V (n_labels, dim + own_dim): of the graph, and beside it of each label's own, both of unit length."""
        c, n_labels = self.config, int(Y.shape[1])
        if c.vectors == "deepwalk":
            read = LabelGraph.from_hierarchy(c.hierarchy, n_labels) if c.hierarchy else None
            graph = read or LabelGraph.from_labels(Y, weighted=c.edges == "counts")
            steps = {"walks": c.walks, "length": c.walk_length, "window": c.window, "passes": c.passes}
            found = deepwalk(graph, c.dim, **steps, seed=seed)  # type: ignore[arg-type]
        else:
            found = ppmi_svd(Y, c.dim, seed=seed) if c.vectors == "ppmi" else random_vectors(n_labels, c.dim, seed=seed)
        if not c.own_dim:
            return found
        return np.hstack([unit_rows(found), unit_rows(random_vectors(n_labels, c.own_dim, seed=seed + 1))])

    def _targets(self, Y: sp.csr_matrix) -> Floats:
        """f_y of each label set (n, dim): Algorithm 1, line 3; centred and of unit length where that is asked."""
        means = _means(Y, self.vectors_)
        if self.config.targets == "centred":
            means = means - self.centre_
        return means if self.config.targets == "plain" else unit_rows(means)

    # -- the objective

    def _objective(self, batch: Batch, rows: Mapping[str, Tensor], network: Network) -> Tensor:
        """Eq. 3 or InfoNCE, summed over the networks."""
        f_x = network(bag(rows["features"], batch.X))  # (E, B, dim)
        f_y: Tensor = batch.extra["targets"]  # (B, dim)
        if self.config.loss == "smooth_l1":
            return torch.stack([smooth_l1(codes, f_y).mean() for codes in f_x]).sum()
        same: Tensor = batch.extra["same"]  # (B, B)
        return torch.stack([info_nce(codes @ f_y.T, self.config.temperature, same) for codes in f_x]).sum()

    def _extend(self, batch: Batch, _: np.random.Generator) -> None:
        """Gives the batch its targets, and which of its rows have the same label set: those are no negatives."""
        batch.extra["targets"] = torch.from_numpy(self._targets(batch.Y))
        if self.config.loss == "infonce":
            shared, sizes = (batch.Y @ batch.Y.T).toarray(), np.diff(batch.Y.indptr)
            batch.extra["same"] = torch.from_numpy((shared == sizes[:, None]) & (shared == sizes))

    # -- training: choose on held-out points, then train on everything

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        rest, held = (train, valid) if valid is not None else self._held_out(train, run)
        with run.timed("label graph"):
            self.vectors_ = self._label_vectors(train.Y, run.seed)
            self.centre_ = _means(train.Y, self.vectors_).mean(axis=0)
        asked = self.config.activation
        with run.timed("choices"):
            self._train(rest, _BOTH if asked == "auto" else (asked,), run.part(0.4), "dxml-choice")
            activation = self._choose(rest, held, run)
        with run.timed("training"):
            everything = train if valid is None else train.joined(Points(valid.X, valid.Y[:, : train.n_labels]))
            self._train(everything, (activation,) * self.config.networks, run, "dxml")
        with run.timed("clusters"):
            rule, probes = self.votes_.rule, self.votes_.probes
            votes = self._votes(everything, self._codes(everything.X), run.seed)
            self.votes_ = replace(votes, rule=rule, probes=probes)

    def _held_out(self, train: Points, run: Run) -> tuple[Points, Points]:
        if train.n_points < _FEW:
            return train, train
        return train.split(self.config.valid_share, run.rng(20), at_most=5000)

    def _train(self, train: Points, activations: Sequence[str], run: Run, name: str) -> None:
        """Sets the networks: W1_ (n_features, E * hidden), and network_ for what comes behind it."""
        c, E, dim = self.config, len(activations), self.vectors_.shape[1]
        start = run.rng(21).uniform(-1, 1, (E, c.hidden, dim)) * c.hidden**-0.5
        self.network_ = Network(activations, c.hidden, dim, c.dropout, start.astype(np.float32))
        table = Table.normal(train.n_features, E * c.hidden, 0.1, run.rng(22))
        labelled = np.flatnonzero(np.diff(train.Y.indptr))
        batches = Batches(
            train.X, train.Y, size=c.batch, seed=run.seed, keep=c.keep, rows=labelled, extend=self._extend
        )
        epochs = c.epochs or max(15, min(30, math.ceil(_STEPS / max(1, len(batches)))))

        def objective(batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
            return self._objective(batch, rows, self.network_)

        tables, plan = {"features": table}, Plan(epochs=epochs, lr=c.lr, schedule="linear")
        Trainer(run, batches, objective, plan, tables=tables, module=self.network_, name=name).fit()
        self.W1_ = table.numpy()
        self.network_.eval()

    def _choose(self, train: Points, held: Points, run: Run) -> str:
        """Sets votes_ to the better network's on the held-out points; returns its activation."""
        c, tried = self.config, []
        n_neighbors = (c.n_neighbors,) if c.n_neighbors else NEIGHBOURS
        sharpness = SHARPNESS if c.sharpness is None else (c.sharpness,)
        codes = zip(self.network_.activations, self._blocks(train.X), self._blocks(held.X), strict=True)
        for activation, points, queries in codes:
            votes = self._votes(train, points, run.seed)
            quality = votes.choose(queries, held.Y, n_neighbors=n_neighbors, sharpness=sharpness, probes=c.probes)
            run.progress.message(f"{activation}: mean P@1,3,5 {quality:.4f}, {votes.rule}, {votes.probes} clusters")
            tried.append((quality, activation, votes))
        _, activation, self.votes_ = max(tried, key=lambda found: found[0])
        return activation

    # -- prediction: encode, search, vote

    def _blocks(self, X: sp.csr_matrix) -> Floats:
        """f_x of each network (E, n, dim)."""
        with torch.no_grad():
            codes: Floats = self.network_(torch.from_numpy(encode_bag(X, self.W1_))).numpy()
        return codes

    def _codes(self, X: sp.csr_matrix) -> Floats:
        """(n, E * dim) of unit length: the inner product of two is the mean of the networks' cosines."""
        blocks = self._blocks(X)
        codes: Floats = np.hstack(list(blocks)) / np.float32(math.sqrt(len(blocks)))
        return codes

    def _votes(self, train: Points, codes: Floats, seed: int) -> ClusterVotes:
        """Algorithm 1, line 5: the points that have labels, in clusters."""
        voters = np.flatnonzero(np.diff(train.Y.indptr))
        n_clusters = self.config.clusters or round(len(voters) / 2000)
        return ClusterVotes(Clusters.fit(codes[voters], n_clusters, seed), train.Y[voters])

    def partial_fit(self, points: Points) -> None:
        """New points become neighbours without any training: each is embedded and joins its nearest cluster."""
        voters = np.flatnonzero(np.diff(points.Y.indptr))
        self.votes_.add(self._codes(points.X[voters]), points.Y[voters])

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        return self.votes_.rank(self._codes(X), k)

    # -- state

    def state(self) -> State:
        votes, network = self.votes_, self.network_
        arrays = {"W1": self.W1_, "centres": votes.clusters.centres, "codes": votes.clusters.vectors}
        arrays |= {f"network.{name}": tensor.numpy() for name, tensor in network.state_dict().items()}
        rule = [votes.rule.n_neighbors, votes.rule.sharpness, votes.probes]
        facts = {"rule": rule, "activation": network.activations[0], "sizes": [*votes.Y.shape, len(arrays["centres"])]}
        return State({**arrays, **pack_csr("Y", votes.Y)}, facts)

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        W2 = state.array("network.W2", ndim=3)
        E, hidden, dim = W2.shape
        try:
            n_neighbors, sharpness, probes = state.facts["rule"]
            rule = VoteRule(int(n_neighbors), float(sharpness))
            activation, (n_points, _, n_clusters) = str(state.facts["activation"]), map(int, state.facts["sizes"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the model's facts are damaged: {error}") from None
        self.W1_ = state.array("W1", shape=(n_features, E * hidden))
        self.network_ = Network((activation,) * E, hidden, dim, 0.0, W2).eval()
        for name in ("bias1", "bias2"):
            parameter: Tensor = getattr(self.network_, name).data
            parameter.copy_(torch.from_numpy(state.array(f"network.{name}", shape=tuple(parameter.shape))))
        codes = state.array("codes", shape=(n_points, E * dim))
        clusters = Clusters(state.array("centres", shape=(n_clusters, E * dim)), codes)
        self.votes_ = ClusterVotes(clusters, unpack_csr(state, "Y", (n_points, n_labels)), rule, max(1, int(probes)))


def _means(Y: sp.csr_matrix, vectors: Floats) -> Floats:
    """V y / nnz(y) of each label set (n, dim)."""
    means: Floats = encode_bag(Y, vectors) / np.maximum(np.diff(Y.indptr), 1).astype(np.float32)[:, None]
    return means
