"""Rank-AE: a label auto-encoder and a feature encoder that share one code (Wang et al., NAACL-HLT 2019).

Labels are encoded and decoded again; documents are encoded into the same space and, at prediction, decoded with the
labels' decoder.

    L(D) = L_h(x_h, y_h) + lambda L_ae(y, y')             Eq. 1      `RankAe._objective`
    x_h = F(x): words, dual attention, one layer          Eq. 5      `nn.attention`, `nn.autoencoder`
    y_h = E(y), y' = D(y_h): two layers each              2.2, 3.1   `nn.autoencoder`
    L_ae = L_P + L_N: lowest positive, highest negative   Eq. 2-4    `losses.ranking`

Deviations; docs/methods/rankae.md has what they are worth:
- The decoder also learns from the documents' codes (`decode_features`): the paper trains it on label codes alone, and
  a regressed code is not a label code.
- The default L_ae is binary cross-entropy, the default L_h is InfoNCE over the batch; `preset="paper"` has the ranking
  loss and the squared distance, which is least where all codes are the same. The ranking loss sets all negatives
  against the lowest positive and all positives against the highest negative, so that those two labels take most of a
  row's gradient; `hardest=false` takes means over pairs instead.
- A document's words are summed, not averaged: its row has unit length already.
- Besides the decoder the nearest training documents vote, by their own codes and by those of their label sets, x_h and
  y_h, and where that helps (`by_words`) by the words themselves; the share of each is chosen on held-out points by a
  network that has not seen them, while `networks` others, with different seeds, are trained on everything.
- With many labels, L_ae is over the batch's own labels and `sampled` others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from zipfel.errors import ModelFileError, ParameterError
from zipfel.explanation import Explanation
from zipfel.index.base import unit_rows
from zipfel.index.choice import NEIGHBOURS, SHARPNESS
from zipfel.index.joined_votes import SHARES, Finder, JoinedVotes, Scores
from zipfel.losses.bce import candidate_bce
from zipfel.losses.infonce import info_nce
from zipfel.losses.ranking import marginal_ranking
from zipfel.methods.base import Method, Points, State, pack_csr, under, unpack_csr
from zipfel.methods.rankae_config import PRESETS, RankAeConfig
from zipfel.methods.word_voters import WordVoters
from zipfel.nn.attention import DualAttention
from zipfel.nn.autoencoder import LabelAutoencoder, Trained, log_odds
from zipfel.nn.bag import LocalRows
from zipfel.nn.contributions import contributions
from zipfel.nn.table import Table
from zipfel.nn.word_vectors import read_word_vectors
from zipfel.ranking import PAD, Ranking
from zipfel.run import Run
from zipfel.threads import at_once
from zipfel.training import Batch, Batches, CandidateSampler, Plan, Trainer
from zipfel.training.label_sets import same_sets

Floats = npt.NDArray[np.float32]
_STEPS, _FEW = 800, 10
"""Training steps that are taken at least; points below which none is held out."""
_NEVER = -20.0
"""Bias of labels that train does not have: the decoder can't know them."""
_SOURCES, _WORDS = ("points", "sets"), "words"
"""Who may vote: training points by their own codes, and by those of their label sets; and by words."""


class RankAe(Method):
    """Labels and documents share a code; the labels' decoder and the nearest documents rank."""

    name: ClassVar[str] = "rankae"
    title: ClassVar[str] = "Rank-AE: a label auto-encoder whose code documents share, with dual attention"
    paper: ClassVar[str] = "Wang, Chen, Sun, Qin, Li and Zhou: Ranking-Based Autoencoder for XMC, NAACL-HLT 2019"
    Config = RankAeConfig
    config: RankAeConfig
    presets = PRESETS
    words_: WordVoters | None

    # -- the objective

    def _objective(self, batch: Batch, rows: Mapping[str, Tensor], network: LabelAutoencoder) -> Tensor:
        """Eq. 1, and the documents' codes decoded as well."""
        c = self.config
        x_h = network.features(rows["features"], batch.X)  # (B, dim)
        y_h = network.encode(rows["encoder"], batch.extra["sets"])  # (B, dim)
        loss = self._common(x_h, y_h, batch)
        for codes, weight in ((y_h, 1.0), (x_h, c.decode_features)):
            if weight:
                logits = network.decode(codes, rows["labels"], rows["bias"])
                loss = loss + c.balance * weight * self._reconstruction(logits, batch)
        return loss

    def _common(self, x_h: Tensor, y_h: Tensor, batch: Batch) -> Tensor:
        """L_h: the squared distance, or of all label sets in the batch find your own."""
        if self.config.common == "mse":
            return (x_h - y_h).square().sum(dim=1).mean()
        cosines = normalize(x_h, dim=1) @ normalize(y_h, dim=1).T  # (B, B)
        return info_nce(cosines, self.config.temperature, batch.extra["same"])

    def _reconstruction(self, logits: Tensor, batch: Batch) -> Tensor:
        """L_ae of logits (B, c): Eq. 2, or its BCE twin."""
        found = batch.candidates
        assert found is not None
        if self.config.loss == "bce":
            return candidate_bce(logits, found.rows, found.columns)
        scores = torch.sigmoid(logits) if self.config.bounded else logits
        truth = found.targets(len(batch)).to(torch.int8)
        return marginal_ranking(scores, truth, self.config.margin, hardest=self.config.hardest).mean()

    @staticmethod
    def _extend(batch: Batch, _: np.random.Generator) -> None:
        """Gives the batch its label sets, and which of them are the same: those are no negatives of each other."""
        sets = LocalRows.from_csr(batch.Y)
        batch.extra |= {"sets": sets, "same": same_sets(batch.Y)}
        batch.ids |= {"encoder": sets.ids, "bias": batch.ids["labels"]}

    # -- training: one network for the choices on held-out points, the others on everything, side by side

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        c, few = self.config, train.n_points < _FEW
        share = c.valid_share or min(0.25, max(0.1, 1000 / max(1, train.n_points)))
        split = (train, train) if few else train.split(share, run.rng(30), at_most=5000)
        rest, held = split if valid is None else (train, valid)
        everything = train if valid is None else train.joined(Points(valid.X, valid.Y[:, : train.n_labels]))
        with run.timed("training"):
            first, *others = at_once(*self._trainings(rest, everything, run))
        with run.timed("choices"):
            self.trained_ = [first]
            self.votes_ = self._choose(rest, held, run)
        if others:
            chosen, self.trained_ = self.votes_, others
            sources = chosen.blend.rules if chosen.blend is not None else ()
            votes = self._votes(everything, sources, run.seed)
            self.votes_ = replace(votes, blend=chosen.blend, share=chosen.share)
            if self.words_ is not None:
                self.words_ = WordVoters.of(_labelled(everything).X, self.words_.damping)

    def _trainings(self, rest: Points, everything: Points, run: Run) -> list[Callable[[], Trained]]:
        """The choices' network, and those that stay; their start is drawn here, from torch's one generator."""
        n = self.config.networks or max(1, min(2, 40_000 // everything.n_points))
        starts = [self._network(1000 * run.seed + number) for number in range(n)]
        same_start = deepcopy(starts[0])  # now: the other is trained beside it

        def choice() -> Trained:
            return self._train(rest, run.part(0.4), same_start, 0, "rankae-choice")

        def kept(number: int) -> Trained:
            return self._train(everything, run.part(1 / (n - number)), starts[number], number)

        return [choice, *(partial(kept, number) for number in range(n * self.config.refit))]

    def _choose(self, train: Points, held: Points, run: Run) -> JoinedVotes:
        """Who votes and how, and the decoder's share, by the held-out points."""
        c = self.config
        votes = self._votes(train, () if c.readout == "decoder" else _SOURCES, run.seed)
        asks_words = c.by_words and c.readout != "decoder"
        self.words_ = WordVoters.chosen(_labelled(train), held) if asks_words else None
        quality = votes.choose(
            *self._codes(held.X),
            held.Y,
            finders=self._finders(held.X),
            shares={"auto": SHARES, "decoder": (1.0,), "neighbours": (0.0,)}[c.readout],
            n_neighbors=(c.n_neighbors,) if c.n_neighbors else NEIGHBOURS,
            sharpness=SHARPNESS if c.sharpness is None else (c.sharpness,),
        )
        if votes.blend is None or _WORDS not in votes.blend.rules:
            self.words_ = None
        chosen = "" if votes.blend is None else f", {votes.blend.facts()}"
        run.progress.message(f"decoder's share {votes.share:g}{chosen}: mean P@1,3,5 {quality:.4f}")
        return votes

    def _train(self, train: Points, run: Run, network: LabelAutoencoder, number: int, name: str = "rankae") -> Trained:
        """The network of that number, from its start: its own tables, batches and dropout."""
        c, seed = self.config, 1000 * run.seed + number
        tables = {
            "features": Table(self._start_of_words(train.n_features, run, number)),
            "encoder": Table.normal(train.n_labels, c.hidden, 0.1, run.rng(32, number)),
            "labels": Table.normal(train.n_labels, c.hidden, 0.05, run.rng(33, number)),
            "bias": Table(log_odds(train.Y) if c.loss == "bce" else np.zeros((train.n_labels, 1), np.float32)),
        }
        sampler = CandidateSampler(train.Y, n_sampled=c.sampled, power=0.5, all_below=c.all_below)
        batches = Batches(
            train.X, train.Y, size=c.batch, seed=seed, candidates=sampler, keep=c.keep,
            rows=np.flatnonzero(np.diff(train.Y.indptr)), extend=self._extend,
        )  # fmt: skip
        plan = Plan(epochs=c.epochs or max(8, min(30, math.ceil(_STEPS / max(1, len(batches))))), lr=c.lr)

        def objective(batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
            return self._objective(batch, rows, network)

        Trainer(run, batches, objective, plan, tables=tables, module=network, name=f"{name}-{number}").fit()
        never = np.bincount(train.Y.indices, minlength=train.n_labels) == 0
        tables["bias"].weights[torch.from_numpy(never)] = _NEVER  # a sampled loss may not have met them
        return Trained.of(network, tables)

    def _network(self, seed: int = 0) -> LabelAutoencoder:
        c = self.config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            attention = DualAttention(c.word_dim, c.reduction, channel=c.attention == "dual", mean=c.pooling == "mean")
            return LabelAutoencoder(attention, c.word_dim, c.dim, c.hidden)

    def _start_of_words(self, n_features: int, run: Run, number: int = 0) -> Floats:
        """(n_features, C): random, or of the file of word vectors where the words are known."""
        start: Floats = 0.1 * run.rng(31, number).standard_normal((n_features, self.config.word_dim), dtype=np.float32)
        if not self.config.words:
            return start
        if run.feature_names is None:
            raise ParameterError("words: word vectors need the names of the features, and this data has none")
        found = read_word_vectors(self.config.words, run.feature_names, start)
        run.progress.message(f"{found:,} of {n_features:,} features have a word vector")
        return start

    # -- prediction: encode, decode, vote

    def _codes(self, X: sp.csr_matrix) -> tuple[Floats, Scores]:
        """The networks' x_h, joined; and the mean of their D(x_h)."""
        found = [part.codes(X) for part in self.trained_]

        def scores(start: int, stop: int) -> Floats:
            each = [part.scores(codes[start:stop]) for part, codes in zip(self.trained_, found, strict=True)]
            return np.asarray(np.mean(each, axis=0), dtype=np.float32)

        return self._joined(found), scores

    @staticmethod
    def _joined(codes: Sequence[Floats]) -> Floats:
        """(n, networks * dim) of unit length: the inner product of two is the mean of the networks' cosines."""
        joined = np.hstack([unit_rows(part) for part in codes])
        return np.asarray(joined / math.sqrt(len(codes)), dtype=np.float32)

    def _votes(self, train: Points, sources: Iterable[str], seed: int) -> JoinedVotes:
        """The points that have labels become neighbours, by their x_h and by their y_h."""
        voters = _labelled(train)
        encode = {
            "points": lambda: [part.codes(voters.X) for part in self.trained_],
            "sets": lambda: [part.set_codes(voters.Y) for part in self.trained_],
        }
        codes = {name: self._joined(encode[name]()) for name in sources if name in encode}
        return JoinedVotes.of(codes, voters.Y, seed=seed)

    def _finders(self, X: sp.csr_matrix) -> dict[str, Finder]:
        """Who finds X's neighbours otherwise than by codes."""
        return {} if self.words_ is None else {_WORDS: self.words_.finder(X)}

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        return self.votes_.rank(*self._codes(X), k, self._finders(X))

    def explain(self, x: sp.csr_matrix, labels: npt.ArrayLike | None = None) -> Explanation:
        """The words of one document (1, n_features): what the first network's attention lets through of each (Figure
        5), and what it adds to the decoder's score of each label; labels: by default the best five."""
        asked = self.predict(x, 5).labels[0] if labels is None else np.asarray(labels)
        first = self.trained_[0]
        features, passed, words = first.words(x)
        added = contributions(
            words, lambda pooled: first.logits(first.network.common(pooled))[0], [int(i) for i in asked if i != PAD]
        )
        return Explanation(features, passed.tolist(), added)

    # -- state

    def state(self) -> State:
        arrays, facts = self.votes_.state()
        arrays = {f"votes.{name}": array for name, array in arrays.items()}
        for number, part in enumerate(self.trained_):
            arrays |= {f"{number}.{name}": array for name, array in part.arrays().items()}
        arrays |= under("words", self.words_.state()) if self.words_ is not None else {}
        Y = self.votes_.near.ballots
        sizes = [len(self.trained_), Y.shape[0]]
        return State({**arrays, **pack_csr("Y", Y)}, {"votes": facts, "sizes": sizes})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        c = self.config
        votes, words = state.part("votes"), state.part("words")
        try:
            networks, n_points = map(int, state.facts["sizes"])
            Y = unpack_csr(state, "Y", (n_points, n_labels))
            self.words_ = WordVoters.restored(words, n_points, n_features) if words else None
            others = (_WORDS,) if words else ()
            self.votes_ = JoinedVotes.restored(votes, state.facts["votes"], Y, networks * c.dim, others)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(f"the model's facts are damaged: {error}") from None
        sizes = {"features": (n_features, c.word_dim), "labels": (n_labels, c.hidden), "bias": (n_labels, 1)}
        self.trained_ = []
        for number in range(networks):
            network = self._network()
            shapes = sizes | {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
            arrays = {name: state.array(f"{number}.{name}", shape=shape) for name, shape in shapes.items()}
            self.trained_.append(Trained.restored(network, arrays))


def _labelled(points: Points) -> Points:
    """Those that have something to vote for."""
    return points.take(np.flatnonzero(np.diff(points.Y.indptr)))
