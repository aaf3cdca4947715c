"""DXML: label graph, DeepWalk, a network into the label space, neighbours in a cluster.

Zhang, Yan, Wang, Zha: Deep Extreme Multi-label Learning, ICMR 2018.

Labels get vectors V from random walks over the graph of labels that occur together. The place of a label set is the
mean of its labels' vectors, and a network learns to send a document there. A new document takes its neighbours' labels.

    label graph, DeepWalk: V                                  Algorithm 1, lines 1-2   `Dxml._label_vectors`
    f_y = V y / nnz(y)                                        Algorithm 1, line 3      `graph.Targets`
    f_x = L2-norm(dropout(W2 relu(W1 x + b1) + b2))           Figure 1, 4.1            `nn.Perceptron`
    L(W) = sum_i sum_j h((f_x)_j, (f_y)_j), smooth L1         Eq. 1-3                  `Dxml.objective`
    Z^1 ... Z^m: k-means of f_X                               Algorithm 1, line 5      `ClusterVotes.of`
    nearest cluster, k neighbours in it, their labels summed  Eq. 4, Algorithm 2       `Dxml.predict`

The optimiser is the paper's: SGD, momentum 0.9, weight decay 0.0005, fixed rate 0.015 (4.1). k is chosen on held-out
points, as in 4.1; then the network is trained on all points. What the paper leaves open, and the value here, is in the
Config. docs/methods/dxml.md has the measurements. Deviations:
- Two labels have as many edges as they share points; `edges=plain` is 3.2's one, which the presets of the paper's data
  sets have where the graph is small enough. On held-out points of train, P@1 / P@3 / P@5 with counts and without:
  delicious 67.4 / 60.4 / 55.5 and 65.7 / 58.9 / 54.2; bibtex 55.1 / 32.7 / 24.2 and 57.2 / 33.0 / 24.2.
- DeepWalk uses negative sampling, its authors' second variant, not hierarchical softmax. On held-out points of bibtex:
  54.6 / 32.1 / 23.6, by hierarchical softmax 55.4 / 32.3 / 24.5.
- A cluster with fewer than k points is not the last one that is searched. k-means looks at 256 points a cluster.
- Biases have no weight decay, as in MXNet. Documents without any known feature get the most frequent labels; points
  without labels are left out.
Beyond the paper, off by default: `loss=infonce`, `optimizer=adam`, `keep`, `own_dim`, `networks` and `probes` above 1,
`sharpness` above 0, `precision`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from torch import Tensor

from zipfel import config as declared
from zipfel.config import param
from zipfel.graph import Targets, deepwalk, graph_of, ppmi_svd, random_vectors, with_own_directions
from zipfel.index.choice import NEIGHBOURS, SHARPNESS, VoteRule
from zipfel.index.cluster_votes import ClusterVotes
from zipfel.losses.infonce import info_nce
from zipfel.losses.smooth_l1 import smooth_l1
from zipfel.methods.base import Method, Points, State
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.nn.bag import bag
from zipfel.nn.perceptron import Embedding, Embeddings, Perceptron
from zipfel.nn.table import Table
from zipfel.quantize import PRECISIONS, rounded
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.system.threads import at_once
from zipfel.training import Batch, Batches, Plan, Trainer
from zipfel.training.held_out import split_to_choose
from zipfel.training.label_sets import SetTargets
from zipfel.training.schedule import epochs_for

Floats = npt.NDArray[np.float32]
_STEPS, _EPOCHS, _ADAM_STEPS, _ADAM_EPOCHS = 8000, (20, 80), 800, (8, 30)
"""Steps that training takes at least, within so many epochs: of SGD, and of Adam."""


@dataclass(frozen=True)
class DxmlConfig(declared.Config):
    """Section 4.1's values; "open" is what the paper does not print."""

    dim: int = param(100, "numbers in a label vector (4.1: 100 for small data, 300 for large)", symbol="l", low=1)
    hidden: int = param(256, "width of the hidden layer (4.1: 256 or 512)", symbol="W1", low=1)
    activation: str = param(
        "relu", "between the layers; linear is Figure 2's control; both: networks take turns, beyond the paper",
        choices=("relu", "linear", "both"),
    )  # fmt: skip
    dropout: float = param(0.5, "dropout after the last layer (4.1; the rate is open)", low=0, high=0.95)
    loss: str = param("smooth_l1", "Eq. 2; beyond the paper: infonce", choices=("smooth_l1", "infonce"))
    targets: str = param("plain", "f_y: as it is, of unit length, or centred too", choices=("plain", "unit", "centred"))
    vectors: str = param("deepwalk", "V; ppmi and random are controls", choices=("deepwalk", "ppmi", "random"))
    edges: str = param("counts", "counts: as many points as share it; plain: 3.2", choices=("counts", "plain"))
    hierarchy: str = param("", "file of `parent child` labels, the graph where it is given (3.2)")
    walks: int | None = param(None, "walks from each label (open); none: 10, or what makes 4 million steps", low=1)
    walk_length: int = param(40, "steps of a walk (open)", low=2)
    window: int = param(5, "steps within which labels are context (open)", low=1)
    passes: int = param(1, "passes of skip-gram over the walks (open)", low=1)
    optimizer: str = param("sgd", "4.1; beyond the paper: adam, falling linearly", choices=("sgd", "adam"))
    lr: float = param(0.015, "learning rate (4.1)", low=1e-6)
    momentum: float = param(0.9, "of SGD (4.1)", low=0, high=0.999)
    decay: float = param(5e-4, "weight decay of SGD (4.1)", low=0)
    batch: int = param(128, "rows a step (open)", low=1)
    epochs: int | None = param(
        None, "passes over train (open); none: 20, or what makes 8,000 steps, to 80", symbol="T", low=1
    )
    start: float = param(0.02, "spread of W1 at the start (open)", low=1e-6)
    clusters: int | None = param(None, "clusters (open); none: one for 6,000 points", symbol="m", low=1)
    probes: int | None = param(1, "clusters to search (Algorithm 2); none: by held-out points", low=1)
    n_neighbors: int | None = param(None, "voters; none: by held-out points (4.1)", symbol="k", low=1)
    sharpness: float | None = param(
        0.0, "t of votes exp(t (cos - best)), beyond the paper; none: by held-out points", low=0
    )
    valid_share: float = param(0.2, "share of train to hold out where no validation set is given", low=0.01, high=0.5)
    own_dim: int = param(0, "numbers of a random direction of each label's own, beyond the paper", low=0)
    keep: float = param(1.0, "share of features that input dropout keeps, beyond the paper", low=0.01, high=1)
    temperature: float = param(0.1, "of InfoNCE, beyond the paper", low=1e-3)
    networks: int | None = param(
        1, "networks whose cosines are averaged, beyond the paper; none: 80,000 points in all, to 5", low=1, high=16
    )
    precision: str = param("float32", "how codes are kept", choices=PRECISIONS)

    removed: ClassVar[Mapping[str, str]] = {"refit": "the network is always trained again on all points"}

    @property
    def descent(self) -> dict[str, Any]:
        """Settings of the optimiser of tables and plan; nothing for Adam."""
        sgd = {"optimizer": "sgd", "momentum": self.momentum, "decay": self.decay}
        return sgd if self.optimizer == "sgd" else {}

    def plan(self, n_batches: int) -> Plan:
        sgd = self.optimizer == "sgd"
        steps, limits = (_STEPS, _EPOCHS) if sgd else (_ADAM_STEPS, _ADAM_EPOCHS)
        epochs = self.epochs or epochs_for(steps, n_batches, limits)
        return Plan(epochs=epochs, lr=self.lr, schedule="constant" if sgd else "linear", **self.descent)

    def network(self, number: int, dropout: float, rng: np.random.Generator) -> Perceptron:
        """The untrained network of that number."""
        curved = self.activation == "relu" or (self.activation == "both" and number % 2 == 0)
        return Perceptron(self.hidden, self.dim + self.own_dim, curved, dropout, rng)


BEST = {
    "activation": "both", "loss": "infonce", "targets": "centred", "edges": "counts", "window": 2, "own_dim": 300,
    "optimizer": "adam", "lr": 3e-3, "batch": 256, "dropout": 0.0, "keep": 0.6, "networks": None,
    "probes": None, "sharpness": None, "precision": "int8",
}  # fmt: skip


class Dxml(Method):
    """Documents are sent to where their labels are in the label graph; their neighbours there vote."""

    name: ClassVar[str] = "dxml"
    title: ClassVar[str] = "DXML: a network into the space of the label graph, neighbours in a cluster"
    paper: ClassVar[str] = "Zhang, Yan, Wang and Zha: Deep Extreme Multi-label Learning, ICMR 2018"
    by_workers: ClassVar[str] = "network"
    Config = DxmlConfig
    config: DxmlConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "best": BEST,
        "paper": {},
        **{name: {"edges": "plain"} for name in ("bibtex", "delicious", "mediamill")},
        **{name: {"edges": "plain", "dim": 300, "hidden": 512} for name in ("wiki10", "amazon")},
        "delicious-large": {"edges": "counts", "dim": 300, "hidden": 512},
    }

    # -- the label graph

    def _label_vectors(self, Y: sp.csr_matrix, run: Run) -> Floats:
        """V (n_labels, dim) of the label graph, or one of its controls."""
        c = self.config
        if c.vectors != "deepwalk":
            return (
                ppmi_svd(Y, c.dim, seed=run.seed)
                if c.vectors == "ppmi"
                else random_vectors(Y.shape[1], c.dim, seed=run.seed)
            )
        graph = graph_of(Y, c.edges, c.hierarchy, run.label_names)
        return deepwalk(
            graph, c.dim, walks=c.walks, length=c.walk_length, window=c.window, passes=c.passes, seed=run.seed
        )

    # -- the objective

    @staticmethod
    def objective(c: DxmlConfig, batch: Batch, f_x: Tensor) -> Tensor:
        """Eq. 3, the mean over the batch; or InfoNCE against the batch's targets."""
        f_y: Tensor = batch.extra["targets"]  # (B, dim)
        if c.loss == "infonce":
            return info_nce(f_x @ f_y.T, c.temperature, batch.extra["same"], batch.first)
        return smooth_l1(f_x, batch.own(f_y)).mean()

    # -- fit: vectors of labels; a network to choose k by; the final network on all points; its clusters

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        rest, held, everything = split_to_choose(train, valid, self.config.valid_share, run.rng(20))
        with run.timed("label graph"):
            V = self._label_vectors(train.Y, run)
        with run.timed("choice"):
            rule, probes = self._choose(rest, held, V, run.part(0.4))
        n = self.config.networks or max(1, min(5, 80_000 // everything.n_points))
        with run.timed("training"):
            tasks = (partial(self._train, everything, V, run.part(1 / (n - i)), i) for i in range(n))
            self.embeddings_ = Embeddings(at_once(*tasks))
        with run.timed("clusters"):
            votes = self._clustered(self.embeddings_.codes(everything.X), everything.Y, run.seed)
            self.priors_, self.votes_ = label_priors(everything.Y), replace(votes, rule=rule, probes=probes)

    def _choose(self, rest: Points, held: Points, V: Floats, run: Run) -> tuple[VoteRule, int]:
        """k, and what else is open of the votes, with the best mean of P@1, P@3, P@5 on the held-out points."""
        c = self.config
        embedding = self._train(rest, V, run, 0, "dxml-choice")
        votes = self._clustered(embedding.codes(rest.X), rest.Y, run.seed)
        quality = votes.choose(
            embedding.codes(held.X), held.Y, n_neighbors=(c.n_neighbors,) if c.n_neighbors else NEIGHBOURS,
            sharpness=SHARPNESS if c.sharpness is None else (c.sharpness,), probes=c.probes,
        )  # fmt: skip
        run.progress.message(f"mean P@1,3,5 {quality:.4f} with {votes.rule}, {votes.probes} clusters")
        return votes.rule, votes.probes

    def _train(self, train: Points, V: Floats, run: Run, number: int, name: str = "dxml") -> Embedding:
        """The network of that number: its own directions of labels, start, batches and dropout."""
        c, seed = self.config, 1000 * run.seed + number
        targets = Targets.of(with_own_directions(V, c.own_dim, seed), train.Y, c.targets)
        network = c.network(number, c.dropout, run.rng(21, number))
        W1 = Table.normal(train.n_features, c.hidden, c.start, run.rng(22, number), **c.descent)
        labelled = np.flatnonzero(np.diff(train.Y.indptr))
        W1.numpy()[np.bincount(train.X[labelled].indices, minlength=train.n_features) == 0] = 0  # never trained
        batches = Batches(
            train.X, train.Y, size=c.batch, seed=seed, keep=c.keep, rows=labelled,
            extend=SetTargets(targets),
        )  # fmt: skip

        def objective(batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
            return self.objective(c, batch, network(bag(rows["features"], batch.X), batch.generator))

        plan, name = c.plan(len(batches)), f"{name}-{number}"
        Trainer(run, batches, objective, plan, tables={"features": W1}, module=network, name=name).fit()
        return Embedding(W1.numpy(), network.eval())

    # -- predict: encode, search, vote

    def _clustered(self, codes: Floats, Y: sp.csr_matrix, seed: int) -> ClusterVotes:
        """Algorithm 1, line 5."""
        return ClusterVotes.of(codes, Y, self.config.clusters, precision=self.config.precision, seed=seed)

    def partial_fit(self, points: Points) -> None:
        """New points become neighbours without any training (3.4): each is embedded and joins its nearest cluster.
        New labels get votes at once; they have no place in the label graph."""
        voters = np.flatnonzero(np.diff(points.Y.indptr))
        self.votes_.add(rounded(self.embeddings_.codes(points.X[voters]), self.config.precision), points.Y[voters])
        self.priors_ = label_priors(self.votes_.Y)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        ranking = self.votes_.rank(self.embeddings_.codes(X), k)
        return fill_blank(ranking, self.priors_, np.logical_not(self.embeddings_.knows(X)))

    # -- state

    def state(self) -> State:
        arrays, votes = self.votes_.state(self.config.precision)
        arrays |= {**self.embeddings_.arrays(), "priors": self.priors_}
        return State(arrays, {"votes": votes, "networks": len(self.embeddings_.parts)})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        c, n = self.config, int(state.fact("networks", low=1, high=16))
        networks = [c.network(number, 0.0, np.random.default_rng(0)) for number in range(n)]
        self.embeddings_ = Embeddings.restored(networks, state, n_features)
        dim = n * (c.dim + c.own_dim)
        self.votes_ = ClusterVotes.restored(state, dict(state.facts.get("votes", {})), dim, n_labels)
        self.priors_ = state.array("priors", shape=(n_labels,)).astype(np.float32)
