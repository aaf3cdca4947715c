"""DXML: label graph, DeepWalk, a network into the label space, neighbours in a cluster (Zhang et al. 2018).

Labels get vectors V from random walks over the graph of labels that occur together; a label set's code is the mean of
its labels' vectors; a network learns to send a document there; a new document takes the labels of its neighbours.

    f_y = V y / nnz(y)                                        Algorithm 1, line 3    `Targets`
    f_x = L2-norm(dropout(W2 relu(W1 x)))                     Figure 1               `Network`
    d(x, y) = sum_j h((f_x)_j, (f_y)_j), smooth L1            Eq. 1-3                `losses.smooth_l1`
    Z^1 ... Z^m: k-means of f_X                               Algorithm 1, line 5    `index.clusters`
    nearest cluster, k neighbours in it, their labels summed  Eq. 4, Algorithm 2     `Dxml.predict`

Deviations; docs/methods/dxml.md has what they are worth:
- The default loss is InfoNCE against the batch's targets, centred and of unit length; `preset="paper"` is smooth L1
  against the plain ones, which a code of unit length can never reach. Adam replaces SGD, and input dropout (`keep`)
  the paper's behind the last layer, in both.
- Edges weigh as many points as their labels share, and each label has, beside its place in the graph, `own_dim`
  numbers of a direction drawn for it alone: labels that always go together would else get one and the same vector.
- Up to five networks are trained, their cosines averaged; `networks` = 1 is the paper's. ReLU or nothing between the
  layers, by held-out points.
- k, how sharply near neighbours outweigh far ones, and how many clusters are searched are chosen on held-out points;
  then all is trained again on everything. Points without labels have no vote and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from zipfel.errors import ModelFileError
from zipfel.graph import LabelGraph, Targets, deepwalk, ppmi_svd, random_vectors
from zipfel.index.base import unit_rows
from zipfel.index.choice import NEIGHBOURS, SHARPNESS, VoteRule
from zipfel.index.cluster_votes import ClusterVotes
from zipfel.index.clusters import Clusters
from zipfel.kernels.bag import encode_bag
from zipfel.losses.infonce import info_nce
from zipfel.losses.smooth_l1 import smooth_l1
from zipfel.methods.base import Method, Points, State, pack_csr, unpack_csr
from zipfel.methods.dxml_config import ACTIVATIONS, DxmlConfig
from zipfel.nn.bag import bag
from zipfel.nn.table import Table
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.threads import at_once
from zipfel.training import Batch, Batches, Plan, Trainer
from zipfel.training.label_sets import same_sets

Floats = npt.NDArray[np.float32]
_STEPS, _FEW, _BLOCK = 800, 10, 4096
"""Training steps that are taken at least; points below which none is held out; rows embedded at a time."""
_PACKED = "int8"
"""How the points' codes are kept: a byte a number, in the file and for the search."""


class Network(nn.Module):
    """Figure 1 behind W1: from sums of W1's rows to codes of unit length."""

    def __init__(self, activation: str, hidden: int, dim: int, dropout: float, rng: np.random.Generator) -> None:
        super().__init__()
        start = rng.uniform(-1, 1, (hidden, dim)).astype(np.float32) * np.float32(hidden**-0.5)
        self.activation = activation
        self.bias1 = nn.Parameter(torch.zeros(hidden))
        self.W2 = nn.Parameter(torch.from_numpy(start))
        self.bias2 = nn.Parameter(torch.zeros(dim))
        self.dropout = dropout

    def forward(self, sums: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """f_x (B, dim) of sums (B, hidden) = W1 x; in training with what dropout draws from."""
        hidden = torch.relu(sums + self.bias1) if self.activation == "relu" else sums + self.bias1
        codes = hidden @ self.W2 + self.bias2
        if self.dropout and generator is not None:  # nn.Dropout would share torch's one generator with its neighbours
            kept = torch.rand(codes.shape, generator=generator) >= self.dropout
            codes = codes * kept.to(codes.device) / (1 - self.dropout)
        return nn.functional.normalize(codes, dim=1)


@dataclass(frozen=True)
class Embedding:
    """A trained network with its first layer."""

    W1: Floats  # (n_features, hidden)
    network: Network

    def codes(self, X: sp.csr_matrix) -> Floats:
        """f_x (n, dim)."""
        starts = range(0, max(1, X.shape[0]), _BLOCK)
        with torch.no_grad():
            sums = (torch.from_numpy(encode_bag(X[at : at + _BLOCK], self.W1)) for at in starts)
            codes: Floats = torch.cat([self.network(part) for part in sums]).numpy()
        return codes


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
            "loss": "smooth_l1", "targets": "plain", "edges": "plain", "own_dim": 0,
            "networks": 1, "activation": "relu",
        },
        "bibtex": {}, "delicious": {}, "mediamill": {},
        "wiki10": {"dim": 300, "networks": 1},
        "delicious-large": {"dim": 300, "networks": 1, "batch": 1024, "epochs": 5},
        "amazon": {"dim": 300, "own_dim": 0, "networks": 1, "batch": 1024, "epochs": 8},
    }  # fmt: skip

    # -- label vectors

    def _graph_vectors(self, Y: sp.csr_matrix, seed: int) -> Floats:
        """V (n_labels, dim) of the label graph, or one of its controls."""
        c, n_labels = self.config, int(Y.shape[1])
        if c.vectors == "ppmi":
            return ppmi_svd(Y, c.dim, seed=seed)
        if c.vectors == "random":
            return random_vectors(n_labels, c.dim, seed=seed)
        read = LabelGraph.from_hierarchy(c.hierarchy, n_labels) if c.hierarchy else None
        graph = read or LabelGraph.from_labels(Y, weighted=c.edges == "counts")
        return deepwalk(graph, c.dim, walks=c.walks, length=c.walk_length, window=c.window, passes=c.passes, seed=seed)

    def _with_own(self, graph: Floats, seed: int) -> Floats:
        """Beside a label's place in the graph a direction of its own, twice as long; each network has others."""
        if not self.config.own_dim:
            return graph
        own = random_vectors(len(graph), self.config.own_dim, seed=seed)
        return np.hstack([unit_rows(graph), 2 * unit_rows(own)])

    # -- the objective

    def _objective(self, batch: Batch, rows: Mapping[str, Tensor], network: Network) -> Tensor:
        """Eq. 3 or InfoNCE."""
        f_x = network(bag(rows["features"], batch.X), batch.generator)  # (B, dim)
        f_y: Tensor = batch.extra["targets"]  # (B, dim)
        if self.config.loss == "smooth_l1":
            return smooth_l1(f_x, f_y).mean()
        return info_nce(f_x @ f_y.T, self.config.temperature, batch.extra["same"])

    @staticmethod
    def _extend(batch: Batch, targets: Targets) -> None:
        """Gives the batch its targets, and which of its rows have the same label set: those are no negatives."""
        batch.extra |= {"targets": torch.from_numpy(targets(batch.Y)), "same": same_sets(batch.Y)}

    # -- training: choose on held-out points, then train on everything; networks side by side

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        c, few = self.config, train.n_points < _FEW
        share = c.valid_share or min(0.25, max(0.1, 1000 / max(1, train.n_points)))
        split = (train, train) if few else train.split(share, run.rng(20), at_most=5000)
        rest, held = split if valid is None else (train, valid)
        with run.timed("label graph"):
            graph = self._graph_vectors(train.Y, run.seed)
        with run.timed("choices"):
            activation = self._choose(rest, held, graph, run)
        if not c.refit:
            return
        everything = train if valid is None else train.joined(Points(valid.X, valid.Y[:, : train.n_labels]))
        n = c.networks or max(1, min(5, 80_000 // everything.n_points))
        with run.timed("training"):

            def train_one(number: int) -> Embedding:
                return self._train(everything, graph, activation, run.part(1 / (n - number)), number)

            self.embeddings_ = at_once(*(partial(train_one, number) for number in range(n)))
        with run.timed("clusters"):
            votes = self._votes(everything, self._codes(everything.X), run.seed)
            self.votes_ = replace(votes, rule=self.votes_.rule, probes=self.votes_.probes)

    def _choose(self, train: Points, held: Points, graph: Floats, run: Run) -> str:
        """Puts the network that is best on the held-out points in place; returns its activation."""
        c = self.config
        n_neighbors = (c.n_neighbors,) if c.n_neighbors else NEIGHBOURS
        sharpness = SHARPNESS if c.sharpness is None else (c.sharpness,)

        def attempt(activation: str) -> tuple[float, str, ClusterVotes, Embedding]:
            embedding = self._train(train, graph, activation, run.part(0.25), 0, name=f"dxml-choice-{activation}")
            votes, queries = self._votes(train, embedding.codes(train.X), run.seed), embedding.codes(held.X)
            quality = votes.choose(queries, held.Y, n_neighbors=n_neighbors, sharpness=sharpness, probes=c.probes)
            run.progress.message(f"{activation}: mean P@1,3,5 {quality:.4f}, {votes.rule}, {votes.probes} clusters")
            return quality, activation, votes, embedding

        tried = at_once(
            *(partial(attempt, name) for name in (ACTIVATIONS if c.activation == "auto" else (c.activation,)))
        )
        _, activation, self.votes_, embedding = max(tried, key=lambda found: found[0])
        self.embeddings_ = [embedding]
        return activation

    def _train(
        self, train: Points, graph: Floats, activation: str, run: Run, number: int, name: str = "dxml"
    ) -> Embedding:
        """The network of that number: its own label directions, start, batches and dropout."""
        c, seed = self.config, 1000 * run.seed + number
        targets = Targets.of(self._with_own(graph, seed), train.Y, c.targets)
        network = Network(activation, c.hidden, targets.vectors.shape[1], c.dropout, run.rng(21, number))
        table = Table.normal(train.n_features, c.hidden, 0.1, run.rng(22, number))
        labelled = np.flatnonzero(np.diff(train.Y.indptr))
        batches = Batches(
            train.X, train.Y, size=c.batch, seed=seed, keep=c.keep, rows=labelled,
            extend=lambda batch, _: self._extend(batch, targets),
        )  # fmt: skip
        plan = Plan(epochs=c.epochs or max(8, min(30, math.ceil(_STEPS / max(1, len(batches))))), lr=c.lr)

        def objective(batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
            return self._objective(batch, rows, network)

        tables = {"features": table}
        Trainer(run, batches, objective, plan, tables=tables, module=network, name=f"{name}-{number}").fit()
        return Embedding(table.numpy(), network.eval())

    # -- prediction: encode, search, vote

    def _codes(self, X: sp.csr_matrix) -> Floats:
        """(n, networks * dim) of unit length: the inner product of two is the mean of the networks' cosines."""
        codes = np.hstack([part.codes(X) for part in self.embeddings_])
        return np.asarray(codes / math.sqrt(len(self.embeddings_)), dtype=np.float32)

    def _votes(self, train: Points, codes: Floats, seed: int) -> ClusterVotes:
        """Algorithm 1, line 5: the points that have labels, in clusters."""
        voters = np.flatnonzero(np.diff(train.Y.indptr))
        codes = rounded(codes[voters], _PACKED)
        n_clusters = self.config.clusters or round(len(voters) / 2000)
        return ClusterVotes(Clusters.fit(codes, n_clusters, seed), train.Y[voters])

    def partial_fit(self, points: Points) -> None:
        """New points become neighbours without any training: each is embedded and joins its nearest cluster (3.4).
        Labels that are new can be voted for at once; they have no place in the label graph."""
        voters = np.flatnonzero(np.diff(points.Y.indptr))
        self.votes_.add(rounded(self._codes(points.X[voters]), _PACKED), points.Y[voters])

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        return self.votes_.rank(self._codes(X), k)

    # -- state

    def state(self) -> State:
        votes = self.votes_
        arrays: dict[str, Any] = {}
        for number, part in enumerate(self.embeddings_):
            weights = {name: tensor.numpy() for name, tensor in part.network.state_dict().items()}
            arrays |= {f"{number}.{name}": array for name, array in {"W1": part.W1, **weights}.items()}
        arrays |= pack_table("codes", votes.clusters.vectors, _PACKED)
        arrays |= {"centres": votes.clusters.centres, **pack_csr("Y", votes.Y)}
        rule = [votes.rule.n_neighbors, votes.rule.sharpness, votes.probes]
        sizes = [len(self.embeddings_), votes.Y.shape[0], votes.clusters.n_clusters]
        return State(arrays, {"rule": rule, "sizes": sizes, "activation": self.embeddings_[0].network.activation})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        try:
            n_neighbors, sharpness, probes = state.facts["rule"]
            rule, probes = VoteRule(int(n_neighbors), float(sharpness)), max(1, int(probes))
            networks, n_points, n_clusters = map(int, state.facts["sizes"])
            activation = str(state.facts["activation"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the model's facts are damaged: {error}") from None
        c, self.embeddings_ = self.config, []
        for number in range(networks):
            network = Network(activation, c.hidden, c.dim + c.own_dim, 0.0, np.random.default_rng(0))
            for name, tensor in network.state_dict().items():
                tensor.copy_(torch.from_numpy(state.array(f"{number}.{name}", shape=tuple(tensor.shape))))
            self.embeddings_.append(
                Embedding(state.array(f"{number}.W1", shape=(n_features, c.hidden)), network.eval())
            )
        width = networks * (c.dim + c.own_dim)
        centres = state.array("centres", shape=(n_clusters, width))
        codes = unpack_table("codes", state.arrays, n_points, width)
        self.votes_ = ClusterVotes(Clusters(centres, codes), unpack_csr(state, "Y", (n_points, n_labels)), rule, probes)
