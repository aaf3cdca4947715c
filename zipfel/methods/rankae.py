"""Rank-AE: a label auto-encoder and a feature encoder that share one code.

Wang, Chen, Sun, Qin, Li, Zhou: Ranking-Based Autoencoder for Extreme Multi-label Classification, NAACL-HLT 2019.

Label sets are encoded and decoded again; documents are encoded into the same space. At prediction the labels' decoder
ranks the labels for a document's code.

    L(D) = L_h(x_h, y_h) + lambda L_ae(y, y')             Eq. 1          `RankAe.objective`
    L_h: mean squared distance                            2.3            `RankAe.common_loss`
    L_ae = L_P + L_N: lowest positive, highest negative   Eq. 2-4        `losses.marginal_ranking`
    x_h = F(x): words, dual attention, one layer          Eq. 5, 3.1     `nn.DualAttention`, `LabelAutoencoder.features`
    y_h = E(y), y' = D(y_h): two layers each              2.2, 3.1       `LabelAutoencoder.encode`, `.decode`
    prediction: D(F(x))                                   2.2            `RankAe.predict`

lambda, m and the number of epochs are tuned on held-out points, as in 3.1; then all is trained again on all points. The
auto-encoder's own P@k on the held-out label sets is reported with them: a decoder that can't decode true codes can't
decode documents.

What the paper leaves open, and the value here:
- Where "large" begins, for which h is 200 (3.1): 100 in `paper`, 200 in the presets of RCV, EURLex and Wiki10.
- L_h is the sum over a code's h numbers, and L_h and L_ae are means over the batch. With the mean over the h numbers,
  lambda would be h times smaller.
- Widths, the batch, and Adam's rate and decay, which 3.1 tunes: see the Config. Word vectors start at random; `words`
  reads GloVe.
- The choice is made on 12,000 points at most. The final network's passes are fewer where it has more points: by the
  square root of the ratio.
- With more than `all_below` labels, L_ae is over the batch's own labels and `sampled` others.
Deviations (docs/methods/rankae.md has their tables):
- E and D normalise their hidden layer over the batch (`norm`; by running means at prediction): without it the
  auto-encoder hardly trains, and the ranking loss stays at the plateau where all scores are equal.
- A document's code is stretched from the mean code before it is decoded (`stretch`). Held-out points choose the
  factor. A regression on codes has a smaller variance than the codes that the decoder was trained on.
  delicious, P@1 / P@3 / P@5 on test: 66.1 / 60.6 / 55.3; 65.8 / 60.1 / 54.7 with `stretch=1`.
- A document's words are summed, not averaged (`pooling`): its row has unit length already.
- Labels without a training point, and documents without a known feature, are not decoded.
- Figure 5's bidirectional LSTM is left out: rows are bags of words.
Beyond the paper, off by default: `loss=bce` (Figure 4's control), `common=infonce`, `decode_features`, `keep`,
and training points that vote (`readout`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from zipfel import config as declared
from zipfel.config import param
from zipfel.errors import ModelFileError
from zipfel.explanation import Explanation
from zipfel.index.choice import CUTS, mean_precision
from zipfel.losses.bce import candidate_bce
from zipfel.losses.infonce import info_nce
from zipfel.losses.ranking import marginal_ranking
from zipfel.methods.base import Method, Points, State
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.nn.autoencoder import LabelAutoencoder, Trained, first_tables
from zipfel.nn.bag import LocalRows
from zipfel.nn.readout import READOUTS, Readout
from zipfel.nn.shares import together
from zipfel.nn.word_vectors import word_start
from zipfel.ranking import PAD, Ranking
from zipfel.run import Run
from zipfel.system.threads import at_once
from zipfel.training import Batch, Batches, CandidateSampler, History, Plan, Trainer
from zipfel.training.held_out import candidates_of, split_to_choose
from zipfel.training.label_sets import same_sets
from zipfel.training.schedule import epochs_for

Floats = npt.NDArray[np.float32]
_REST = 12_000
"""Points that the choices are trained on at most."""
_STEPS, _EPOCHS = 1300, (10, 60)
"""Steps that training takes at least, within so many epochs."""
STRETCHES = (1.0, 1.15, 1.3, 1.5)
"""Factors that are tried on documents' codes."""


@dataclass(frozen=True)
class RankAeConfig(declared.Config):
    """Section 3.1's values; "open" is what the paper does not print."""

    word_dim: int = param(100, "channels of a word vector (3.1)", symbol="C", low=1)
    dim: int = param(100, "numbers in a code (3.1: 100, or 200 for many labels)", symbol="h", low=1)
    hidden: int = param(256, "width of the inner layers of encoder and decoder (open)", low=1)
    attention: str = param("dual", "spatial: without the channels' part (Figure 4)", choices=("dual", "spatial"))
    reduction: int = param(4, "how much narrower the channels' attention is (3.1)", symbol="r", low=1)
    pooling: str = param("sum", "of a document's words; 2.4: mean", choices=("sum", "mean"))
    norm: str = param("batch", "normalisation of the hidden layers of E and D (open)", choices=("batch", "none"))
    words: str = param("", "a .vec file of word vectors to start from (3.1: GloVe); empty: random ones")
    start: float = param(0.1, "spread of random word vectors at the start (open)", low=1e-6)
    loss: str = param("ranking", "L_ae: Eq. 2-4, or Figure 4's control", choices=("ranking", "bce"))
    margin: float | None = param(None, "between scores; none: see SETTINGS", symbol="m", low=0, high=1)
    balance: float | None = param(None, "weight of L_ae; none: see SETTINGS", symbol="lambda", low=0)
    epochs: int | None = param(None, "passes over train at most; none: 10, or what makes 1,300 steps, to 60", low=1)
    batch: int = param(256, "rows a step (open)", low=1)
    lr: float = param(1e-3, "Adam's rate at the start, falling linearly to 0 (open)", low=1e-6)
    decay: float = param(0.0, "weight decay of the tables (3.1: tuned)", low=0)
    sampled: int = param(1000, "labels drawn for a batch where there are more than `all_below`", low=1)
    all_below: int = param(5000, "labels up to which all are scored in every batch", low=0)
    valid_share: float = param(0.2, "share held out where no validation set is given (3.1)", low=0.01, high=0.5)
    common: str = param("mse", "L_h (2.3); beyond the paper: infonce", choices=("mse", "infonce"))
    temperature: float = param(0.05, "of InfoNCE, beyond the paper", low=1e-3)
    decode_features: float = param(0.0, "weight of L_ae of documents' codes, beyond the paper", low=0)
    keep: float = param(1.0, "share of features that input dropout keeps, beyond the paper", low=0.01, high=1)
    stretch: float | None = param(None, "of documents' codes, 1: none (2.2); none: by held-out points", low=0.1)
    readout: str = param("decoder", "what ranks (2.2); others: beyond the paper", choices=READOUTS)


SETTINGS: Mapping[str, tuple[Mapping[str, float], ...]] = {
    "ranking": ({"balance": 10.0, "margin": 0.2}, {"balance": 3.0, "margin": 0.1}),
    "bce": ({"balance": 1.0, "margin": 0.1},),
}
"""Values of lambda and m that held-out points choose from, if none is set."""
BEST = {
    "loss": "bce", "common": "infonce", "decode_features": 1.0, "balance": 0.1, "norm": "none", "readout": "both",
    "word_dim": 200, "dim": 300, "keep": 0.65, "lr": 3e-3, "stretch": 1.0,
}  # fmt: skip


class RankAe(Method):
    """Labels and documents share a code; the labels' decoder ranks."""

    name: ClassVar[str] = "rankae"
    title: ClassVar[str] = "Rank-AE: a label auto-encoder whose code documents share, with dual attention"
    paper: ClassVar[str] = "Wang, Chen, Sun, Qin, Li and Zhou: Ranking-Based Autoencoder for XMC, NAACL-HLT 2019"
    by_workers: ClassVar[str] = "network"
    Config = RankAeConfig
    config: RankAeConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "best": BEST,
        **{name: {} for name in ("paper", "delicious", "mediamill", "imdb")},
        **{name: {"dim": 200} for name in ("rcv", "eurlex", "wiki10")},
    }

    # -- the objective

    @classmethod
    def objective(cls, c: RankAeConfig, batch: Batch, rows: Mapping[str, Tensor], network: LabelAutoencoder) -> Tensor:
        """Eq. 1."""
        x_h = network.features(rows["features"], batch.X)  # (B, dim)
        y_h = network.encode(rows["encoder"], batch.extra["sets"])  # (B, dim)
        loss = cls.common_loss(c, x_h, y_h, batch)
        for codes, weight in ((y_h, 1.0), (x_h, c.decode_features)):
            if weight:
                logits = network.decode(codes, rows["labels"], rows["bias"])  # (B, c)
                loss = loss + (c.balance or 1.0) * weight * cls.reconstruction_loss(c, logits, batch)
        return loss

    @staticmethod
    def common_loss(c: RankAeConfig, x_h: Tensor, y_h: Tensor, batch: Batch) -> Tensor:
        """L_h: the squared distance, the mean over the batch; or InfoNCE against the batch's label sets."""
        if c.common == "mse":
            return (x_h - y_h).square().sum(dim=1).mean()
        similarity = normalize(x_h, dim=1) @ together(normalize(y_h, dim=1)).T
        return info_nce(similarity, c.temperature, batch.extra["same"], batch.first)

    @staticmethod
    def reconstruction_loss(c: RankAeConfig, logits: Tensor, batch: Batch) -> Tensor:
        """L_ae of logits (B, c): Eq. 2 on their sigmoid, the mean over the batch; or its BCE twin."""
        found = batch.candidates
        assert found is not None
        if c.loss == "bce":
            return candidate_bce(logits, found.rows, found.columns)
        truth = found.targets(len(batch)).to(torch.int8)
        return marginal_ranking(torch.sigmoid(logits), truth, 0.1 if c.margin is None else c.margin).mean()

    @staticmethod
    def _extend(batch: Batch, _: np.random.Generator) -> None:
        """Gives the batch its label sets, and which of them are the same: those are no negatives of each other."""
        sets = LocalRows.from_csr(batch.Y)
        batch.extra |= {"sets": sets, "same": batch.own(same_sets(batch.everything.Y))}
        batch.ids |= {"encoder": sets.ids, "bias": batch.ids["labels"]}

    # -- fit: lambda, m and epochs on held-out points; the final networks on all points; their votes, if any

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        rest, held, everything = split_to_choose(train, valid, self.config.valid_share, run.rng(30))
        if rest.n_points > _REST:
            rest = rest.take(np.sort(run.rng(34).permutation(rest.n_points)[:_REST]))
        with run.timed("choice"):
            c, first = self._choose(rest, held, run.part(0.4))
            readout = Readout.chosen(first, c.readout, rest, held, run.seed)
            c = c.replace(epochs=max(1, round((c.epochs or 1) * math.sqrt(rest.n_points / everything.n_points))))
        with run.timed("training"):
            trained = self._train(c, everything, run)[0].stretched(self.chosen_["stretch"], everything.X)
        self.readout_, self.priors_ = readout.on(trained, everything, run.seed), label_priors(everything.Y)

    def _choose(self, rest: Points, held: Points, run: Run) -> tuple[RankAeConfig, Trained]:
        """lambda, m and the number of epochs with the best mean of the decoder's P@1, P@3, P@5 on held-out points."""
        configs = candidates_of(self.config, SETTINGS[self.config.loss])
        judged = at_once(*(partial(self._judge, c, rest, held, run, f"rankae-{i}") for i, c in enumerate(configs)))
        best = max(range(len(judged)), key=lambda i: judged[i][0])
        quality, trained, found = judged[best]
        self.chosen_: dict[str, Any] = {"lambda": configs[best].balance, "m": configs[best].margin, **found}
        run.progress.message(f"mean P@1,3,5 {quality:.4f} with {self.chosen_}")
        return configs[best].replace(epochs=found["epochs"]), trained

    def _judge(
        self, c: RankAeConfig, rest: Points, held: Points, run: Run, name: str
    ) -> tuple[float, Trained, dict[str, Any]]:
        """(mean precision, the network at its best epoch, that epoch, the stretch of codes, and the auto-encoder's own
        P@1, P@3, P@5 on label sets)."""

        def quality(trained: Trained) -> float:
            return mean_precision(trained.ranked(trained.codes(held.X), max(CUTS)), held.Y)

        trained, history = self._train(c, rest, run, name, quality)
        stretches = STRETCHES if c.stretch is None else (c.stretch,)
        found = {by: quality(trained.stretched(by, rest.X)) for by in stretches}
        best = max(found, key=lambda by: found[by])
        decoded = trained.ranked(trained.set_codes(held.Y), max(CUTS))
        own = [round(mean_precision(decoded, held.Y, (k,)), 4) for k in CUTS]
        facts = {"epochs": max(1, history.best_epoch + 1), "stretch": best, "autoencoder": own}
        return found[best], trained.stretched(best, rest.X), facts

    def _train(
        self, c: RankAeConfig, train: Points, run: Run, name: str = "rankae",
        quality: Callable[[Trained], float] | None = None,
    ) -> tuple[Trained, History]:  # fmt: skip
        """quality: asked after each epoch; the best epoch's weights stay."""
        network, labelled = self._network(run.seed), np.flatnonzero(np.diff(train.Y.indptr))
        words = word_start(train.X, c.word_dim, c.start, run.rng(31), c.words, run.feature_names)
        tables = first_tables(train, words, c.hidden, c.decay, (run.rng(32), run.rng(33)))
        sampler = CandidateSampler(train.Y, n_sampled=c.sampled, power=0.5, all_below=c.all_below)
        batches = Batches(
            train.X, train.Y, size=c.batch, seed=run.seed, candidates=sampler, keep=c.keep, rows=labelled,
            extend=self._extend,
        )  # fmt: skip
        plan = Plan(epochs=c.epochs or epochs_for(_STEPS, len(batches), _EPOCHS), lr=c.lr)
        now = Trained(network, {name: table.weights for name, table in tables.items()})
        history = Trainer(
            run, batches, lambda batch, rows: self.objective(c, batch, rows, network), plan, tables=tables,
            module=network, validate=None if quality is None else partial(quality, now), name=name,
        ).fit()  # fmt: skip
        return Trained.of(network, tables, train.Y), history

    def _network(self, seed: int) -> LabelAutoencoder:
        c = self.config
        return LabelAutoencoder(
            c.word_dim, c.dim, c.hidden, torch.Generator().manual_seed(seed), reduction=c.reduction,
            channel=c.attention == "dual", mean=c.pooling == "mean", norm=c.norm == "batch",
        )  # fmt: skip

    # -- predict: encode, decode; beyond the paper, vote

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        ranking = self.readout_.rank(X, k)
        unknown = np.logical_not(self.readout_.trained.knows(X))[:, None] | (self.priors_[ranking.labels] == 0)
        return fill_blank(ranking, self.priors_, unknown)

    def explain(self, x: sp.csr_matrix, labels: npt.ArrayLike | None = None) -> Explanation:
        """What attention lets through of each word of one document (1, n_features) (Figure 5), and what it adds to the
        decoder's score of each label; labels: by default the best five."""
        asked = self.predict(x, 5).labels[0] if labels is None else np.asarray(labels)
        return self.readout_.trained.explained(x, [int(label) for label in asked if label != PAD])

    # -- state

    def state(self) -> State:
        state = self.readout_.state()
        return State({**state.arrays, "priors": self.priors_}, {"readout": state.facts, "chosen": self.chosen_})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        c = self.config
        shapes = {"features": (n_features, c.word_dim), "labels": (n_labels, c.hidden), "bias": (n_labels, 1)}
        try:
            self.chosen_ = dict(state.facts["chosen"])
            self.readout_ = Readout.restored(self._network(0), State(state.arrays, state.facts["readout"]), shapes)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(f"the model's facts are damaged: {error}") from None
        self.priors_ = state.array("priors", shape=(n_labels,)).astype(np.float32)
