"""MNN: two averaging encoders, one cosine space (Zhao et al., Matching Neural Network for Extreme Multi-Label
Learning).

A document's code is the weighted mean of its features' vectors, a label set's code the mean of its labels' vectors;
both are trained so that a document and its own label set point the same way.

    f_y(y) = 1/T sum_t W y_t                                        Eq. 1, 3      `Mnn._codes`, of label sets
    f_x(x) = 1/|r|_1 sum_k r_k w_k W' x_k, r_k ~ Bernoulli(p)       Eq. 2, 4-7    `Mnn._codes`, of the kept features
    c(x, y) = <f_x, f_y> / |f_x| |f_y|                              Eq. 8         `Mnn._objective`
    L+ = (1 - c)^2 / 4, L- = c^2 where c > m, the largest of h      Eq. 9-11      `losses.contrastive`

Deviations; docs/methods/mnn.md has what they are worth:
- 1/T, 1/|r|_1 and the length of a row cancel in the cosine, so that sums stand for the means.
- The h negatives are label sets of the same batch, whose rows are a random sample of train already. Those equal to the
  positive set (or, with `exclude`, overlapping with it) are no negatives.
- The default loss is InfoNCE over the batch's label sets. Its temperature, or the paper's h and p, is chosen by a small
  encoder of a few thousand points for each of two settings.
- The paper does not say how single labels are ranked. Here the document's neighbours vote, from three sources: the
  label vectors, the codes of the training points' label sets, and the codes of the training points' features.
- Several pairs of encoders are trained, and their cosines averaged; `encoders` = 1 is the paper's. The first pair does
  without some held-out points, on which it chooses who votes, and how; the others learn from all points.
- Where most labels are rare, the words of their documents have a say beside the votes, and rare labels a bonus
  (`mnn_tail`).
- What is kept is rounded to int8 with a scale for each row; `precision` = float32 keeps all of it.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from zipfel.errors import ModelFileError
from zipfel.index.base import unit_rows
from zipfel.index.blend import RARITY, Blend, JointNeighbors
from zipfel.index.choice import CUTS, VoteRule, mean_precision
from zipfel.losses.contrastive import noise_contrastive
from zipfel.losses.infonce import info_nce
from zipfel.methods.base import Method, Points, State, pack_csr, under, unpack_csr
from zipfel.methods.mnn_config import SETTINGS, SOURCES, MnnConfig
from zipfel.methods.mnn_encoders import Codes, Encoders, ballots, fingerprints
from zipfel.methods.mnn_tail import CANDIDATES, Tail, has_tail, strangers_held_out
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.nn.bag import LocalRows, bag
from zipfel.nn.quantize import pack_table, rounded, unpack_table
from zipfel.nn.table import Table
from zipfel.ranking import PAD, Ranking
from zipfel.run import Run
from zipfel.threads import at_once, get_threads
from zipfel.training import Batch, Batches, Plan, Trainer

NEIGHBOURS, SHARPNESS = (20, 80, 320), (5.0, 10.0, 20.0)
_FEW, _HELD, _MANY = 10, (2000, 4000), 20_000
"""Points below which none is held out; how many are at most, where labels are rare the second; and from which on
batches are larger."""
_STEPS, _EPOCHS = 300, (8, 25)
"""Steps that training takes at least, within so many epochs."""
_CHANCE = 0.005
"""By so much the mean of P@1, 3 and 5 on a thousand points differs by luck."""
_SPARE = 0.0005
"""What rare labels' louder votes may cost of that mean."""
_SKETCH, _SKETCH_RULE = {"dim": 100, "batch": 256}, VoteRule(80, 10.0)
_SKETCHED, _JUDGED, _SKETCH_STEPS = 5000, 2000, 240
"""What a setting is judged by: a small encoder of so many points, by so many others besides the held-out ones. With
half as many points, the wrong temperature won on two of three parts of delicious."""
_GLANCE = 0.15
"""Share of a time budget for a sketch."""
_LARGE = 2**30
"""Bytes of tables from which on two trainings follow one another; below, they run side by side."""


class Mnn(Method):
    """Documents and label sets in one cosine space; a document's neighbours vote for its labels."""

    name: ClassVar[str] = "mnn"
    title: ClassVar[str] = "Matching Neural Network: documents and label sets in one cosine space"
    paper: ClassVar[str] = "Zhao, Li, Zuo and Wu: Matching Neural Network for Extreme Multi-Label Learning"
    Config = MnnConfig
    config: MnnConfig
    tail_: Tail | None
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"loss": "contrastive", "tail": False},
        "bibtex": {"temperature": 0.15},
        "delicious": {"temperature": 0.05},
        "eurlex": {"temperature": 0.05, "encoders": 2},
        "wiki10": {"temperature": 0.05, "encoders": 2},
        "delicious-large": {"temperature": 0.05, "encoders": 1, "dim": 300, "epochs": 5},
        "amazon": {"temperature": 0.05, "encoders": 1, "dim": 300, "epochs": 8},
    }

    # -- the objective

    def _objective(self, batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        """Eq. 11 or InfoNCE, the mean over the encoders."""
        f_x = self._codes(rows["features"], batch.X)  # (E, B, dim)
        f_y = self._codes(rows["labels"], batch.extra["sets"])  # (E, B, dim)
        if self.config.loss == "infonce":
            cosines = f_x @ f_y.transpose(1, 2)  # (E, B, B), Eq. 8
            return info_nce(cosines, self.setting_["temperature"], batch.extra["excluded"])
        negatives, is_one = self._hardest(f_x.detach(), f_y.detach(), batch)  # (E, B)
        positive = (f_x * f_y).sum(dim=2)  # (E, B)
        negative = (f_x * f_y.gather(1, negatives[:, :, None].expand(f_y.shape))).sum(dim=2)
        negative = negative.masked_fill(~is_one, -torch.inf)
        return noise_contrastive(positive.flatten(), negative.flatten()[:, None], self.config.margin)

    def _hardest(self, f_x: Tensor, f_y: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """(E, B) which of its h sampled label sets is the nearest to each row, and whether any of them is a negative.

        Only that one costs anything in Eq. 11, so that only its cosine needs a gradient.
        """
        sampled: Tensor = batch.extra["sampled"]  # (B, h)
        cosines = (f_x @ f_y.transpose(1, 2)).gather(2, sampled.expand(len(f_x), -1, -1))  # (E, B, h)
        excluded: Tensor = batch.extra["excluded"]  # (B, B)
        largest, place = cosines.masked_fill(excluded.gather(1, sampled), -torch.inf).max(dim=2)
        return sampled.expand(len(f_x), -1, -1).gather(2, place[:, :, None])[..., 0], largest > -torch.inf

    def _codes(self, vectors: Tensor, rows: LocalRows) -> Tensor:
        """Eq. 3 and 7, of unit length: (E, B, dim)."""
        return normalize(bag(vectors, rows).view(rows.n_rows, -1, self.config.dim), dim=2).transpose(0, 1)

    def _extend(self, batch: Batch, rng: np.random.Generator, prints: npt.NDArray[np.int64]) -> None:
        """Gives the batch its label sets, which of them are no negatives, and the h that are sampled."""
        sets = LocalRows.from_csr(batch.Y)
        batch.ids["labels"], batch.extra["sets"] = sets.ids, sets
        mine = prints[batch.rows]
        overlap = self.config.exclude == "overlapping"
        excluded = (batch.Y @ batch.Y.T).toarray() > 0 if overlap else mine[:, None] == mine  # (B, B)
        batch.extra["excluded"] = torch.from_numpy(excluded)
        size = (len(batch), int(self.setting_.get("negatives", 1)))
        batch.extra["sampled"] = torch.from_numpy(rng.integers(0, len(batch), size))

    # -- training: a setting, an encoder that chooses the votes, and the other encoders

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        if valid is not None:
            valid = Points(valid.X, valid.Y[:, : train.n_labels])
        self._has_tail = has_tail(train.Y) if self.config.tail is None else self.config.tail
        rest, held = (train, valid) if valid is not None else self._held_out(train, run)
        everything = train if valid is None else train.joined(valid)
        with run.timed("setting"):
            self.setting_ = self._choose_setting(rest, held, run)
        with run.timed("training"):
            encoders = self._train_all(rest, held, everything, run)
        with run.timed("index"):
            if self.tail_ is not None:
                self.tail_ = Tail.of(everything, self.tail_.blend, self.tail_.bonus, self.config.precision)
            self.encoders_, self.Y_ = encoders.rounded(self.config.precision), everything.Y
            self.neighbourhood_ = self._neighbourhood(self.encoders_, everything, run.seed, tuple(self.blend_.rules))

    def _held_out(self, train: Points, run: Run) -> tuple[Points, Points]:
        if train.n_points < _FEW:
            return train, train
        split = strangers_held_out if self._has_tail else Points.split
        return split(train, self.config.valid_share, run.rng(10), at_most=_HELD[self._has_tail])

    def _choose_setting(self, train: Points, valid: Points, run: Run) -> Mapping[str, float]:
        """The one of the loss's settings whose small encoder answers best; what the user has set stays."""
        c, own = self.config, self.config.to_dict()
        settings = [{k: own[k] or v for k, v in setting.items()} for setting in SETTINGS[c.loss]]
        if settings[0] == settings[1]:
            return settings[0]
        order, n = run.rng(13).permutation(train.n_points), min(_SKETCHED, -(-2 * train.n_points // 3))
        few, others = train.take(np.sort(order[:n])), train.take(np.sort(order[n : n + _JUDGED])).joined(valid)
        sources = ("sets", "points") if c.ranking == "blend" else (c.ranking,)
        even = Blend(dict.fromkeys(sources, _SKETCH_RULE), dict.fromkeys(sources, 1 / len(sources)))

        def judge(i: int) -> float:
            sketch = Mnn(c.replace(**_SKETCH, epochs=_SKETCH_STEPS * 256 // max(n, 2560)))
            sketch.setting_ = settings[i]
            encoder = sketch._train(few, run.part(_GLANCE), 1, f"mnn-setting-{i}")
            near = sketch._neighbourhood(encoder, few, run.seed, sources)
            return mean_precision(near.rank(encoder.points(others.X), even, max(CUTS)), others.Y)

        quality = at_once(lambda: judge(0), lambda: judge(1))
        for setting, found in zip(settings, quality, strict=True):
            run.progress.message(f"mean P@1,3,5 {found:.4f} with {setting}, in small")
        return settings[int(np.argmax(quality))]

    def _train_all(self, rest: Points, held: Points, everything: Points, run: Run) -> Encoders:
        """The first encoder does not see the held-out points, and chooses the votes by them; the others see all.

        A single one would have to do without those points for good, so there the first only chooses.
        """
        n = self.config.encoders
        width = max(2, n) * self.config.dim
        large = 12 * (everything.n_features + everything.n_labels) * width > _LARGE  # weights, Adam's two moments
        early = run.part(1 - 1 / max(2, n)) if large or get_threads() == 1 else run  # a time budget is for both
        others, first = at_once(
            lambda: self._train(everything, early, max(1, n - 1)),
            lambda: self._choose_votes(self._train(rest, run, 1, "mnn-first"), rest, held, run),
            threads=1 if large else None,
        )
        return others if n == 1 else first.beside(others)

    def _choose_votes(self, encoders: Encoders, train: Points, valid: Points, run: Run) -> Encoders:
        """Who votes, and how: what has the best mean of P@1, 3 and 5 on points that the encoders have not seen.

        Label vectors join the blend only where that is worth more than chance: they are few, so that a weight that
        was right by luck moves every answer.
        """
        c = self.config
        near = self._neighbourhood(encoders, train, run.seed, SOURCES if c.ranking == "blend" else (c.ranking,))
        self.blend_, quality = near.choose(
            encoders.points(valid.X),
            valid.Y,
            n_neighbors=(c.n_neighbors,) if c.n_neighbors else NEIGHBOURS,
            sharpness=SHARPNESS if c.sharpness is None else (c.sharpness,),
            rarity=((0.0,) if self._has_tail else RARITY) if c.rarity is None else (c.rarity,),
            reserve=("labels",) if c.ranking == "blend" else (),
            chance=_CHANCE,
            spare=_SPARE,
        )
        run.progress.message(f"mean P@1,3,5 {quality:.4f} with {self.blend_.facts()}")
        self.tail_ = None
        if self._has_tail:
            votes = near.rank(encoders.points(valid.X), self.blend_, CANDIDATES)
            self.tail_ = Tail.learn(train, valid, votes, c.bonus, c.precision)
        return encoders

    def _train(self, train: Points, run: Run, encoders: int, name: str = "mnn") -> Encoders:
        """So many encoders side by side; each name draws its own first vectors."""
        c, salt = self.config, zlib.crc32(name.encode())
        tables = {
            "features": Table.normal(train.n_features, encoders * c.dim, c.dim**-0.5, run.rng(11, salt)),
            "labels": Table.normal(train.n_labels, encoders * c.dim, c.dim**-0.5, run.rng(12, salt)),
        }
        matched = np.flatnonzero((np.diff(train.X.indptr) > 0) & (np.diff(train.Y.indptr) > 0))
        known = np.bincount(train.X[matched].indices, minlength=train.n_features) > 0
        tables["features"].numpy()[~known] = 0  # what is never trained says nothing, rather than something random
        prints = fingerprints(train.Y)
        batches = Batches(
            train.X,
            train.Y,
            size=c.batch or (256 if len(matched) < _MANY else 512),
            seed=run.seed,
            keep=self.setting_["keep"],
            rows=matched,
            extend=lambda batch, rng: self._extend(batch, rng, prints),
        )
        enough = math.ceil(_STEPS / max(1, len(batches)))
        plan = Plan(epochs=c.epochs or int(np.clip(enough, *_EPOCHS)), lr=c.lr, schedule="linear")
        Trainer(run, batches, self._objective, plan, tables=tables, name=name).fit()
        return Encoders(tables["features"].numpy(), tables["labels"].numpy(), c.dim)

    # -- prediction: encode, search, vote

    def _neighbourhood(self, encoders: Encoders, train: Points, seed: int, sources: tuple[str, ...]) -> JointNeighbors:
        """Label l is voter l, training point i is voter n_labels + i; those without a code have no vote."""
        L = train.n_labels
        labelled = np.diff(train.Y.indptr) > 0
        seen, points = np.unique(train.Y.indices).astype(np.int64), np.flatnonzero(labelled)
        full = np.flatnonzero(labelled & (np.diff(train.X.indptr) > 0))
        voters = {"labels": seen, "sets": L + points, "points": L + full}
        encode: dict[str, Callable[[], Codes]] = {
            "labels": lambda: encoders.sets(sp.identity(L, dtype=np.float32, format="csr")[seen]),
            "sets": lambda: encoders.sets(train.Y[points]),
            "points": lambda: encoders.points(train.X[full]),
        }
        codes = {source: (voters[source], self._compact(encode[source]())) for source in sources}
        return JointNeighbors(codes, ballots(train.Y), seed=seed)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        codes = self.encoders_.points(X)
        ranking = self.neighbourhood_.rank(codes, self.blend_, k if self.tail_ is None else max(k, CANDIDATES))
        if self.tail_ is not None:
            ranking = self.tail_.rank(X, ranking, k)
        nothing = ~codes.any(axis=1)  # a code of zeros is equally far from all
        ranking.labels[nothing], ranking.scores[nothing] = PAD, -np.inf
        return fill_blank(ranking, label_priors(self.Y_))

    # -- state

    def _compact(self, codes: Codes) -> Codes:
        """What is left of codes after saving and loading, at unit length: the second rounding changes a last bit, if
        anything, and a third would not."""
        return rounded(unit_rows(rounded(codes, self.config.precision)), self.config.precision)

    def state(self) -> State:
        arrays, facts = self.neighbourhood_.state()
        tables = {"features": self.encoders_.features, "label_vectors": self.encoders_.labels}
        tables |= {name: array for name, array in arrays.items() if name.endswith(".vectors")}
        for name, table in tables.items():
            arrays |= pack_table(name, table, self.config.precision)
        chosen = {"blend": self.blend_.facts(), "setting": dict(self.setting_), "n_points": self.Y_.shape[0]}
        if self.tail_ is not None:
            arrays, chosen = arrays | under("tail", self.tail_.state()), chosen | {"tail": self.tail_.facts()}
        return State({**arrays, **pack_csr("Y", self.Y_)}, {**chosen, "indexes": facts})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        try:
            self.blend_ = Blend.from_facts(state.facts["blend"])
            n_points, indexes = int(state.fact("n_points", low=0)), dict(state.facts["indexes"])
            self.setting_ = {str(name): float(value) for name, value in state.facts["setting"].items()}
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelFileError(f"the model's facts are damaged: {error}") from None
        if not self.blend_.rules.keys() <= indexes.keys():
            raise ModelFileError("the model lacks an index that its blend asks")
        width = self.config.encoders * self.config.dim
        features = unpack_table("features", state.arrays, n_features, width)
        labels = unpack_table("label_vectors", state.arrays, n_labels, width)
        self.encoders_ = Encoders(features, labels, self.config.dim)
        self.Y_ = unpack_csr(state, "Y", (n_points, n_labels))
        self.tail_ = Tail.restored(state, self.Y_, n_features, self.config.precision)
        arrays = dict(state.arrays)
        for name in (f"{source}.vectors" for source in indexes):
            arrays[name] = unpack_table(name, arrays, len(state.array(name, ndim=2)), width)
        self.neighbourhood_ = JointNeighbors.restored(arrays, indexes, ballots(self.Y_), width)
