"""MNN: two averaging encoders, one cosine space (Zhao et al., Matching Neural Network for Extreme Multi-Label
Learning).

A document's code is the weighted mean of its features' vectors, a label set's code the mean of its labels' vectors;
both are trained so that a document and its own label set point the same way.

    f_y(y) = 1/T sum_t W y_t                                        Eq. 3      `Mnn._codes`, of label sets
    f_x(x) = 1/|r|_1 sum_k r_k w_k W' x_k, r_k ~ Bernoulli(p)       Eq. 5-7    `Mnn._codes`, of the kept features
    c(x, y) = <f_x, f_y> / |f_x| |f_y|                              Eq. 8      `Mnn._objective`
    L+ = (1 - c)^2 / 4, L- = c^2 where c > m, the largest of h      Eq. 9-11   `losses.contrastive`

Deviations; docs/methods/mnn.md has what they are worth:
- 1/T, 1/|r|_1 and the length of a row cancel in the cosine, so that sums stand for the means.
- The h negatives are label sets of the same batch, whose rows are a random sample of train already. Those equal to the
  positive set (or, with `exclude`, overlapping with it) are no negatives.
- The default loss is InfoNCE over the batch's label sets. Its temperature, or the paper's h and p, is chosen on
  held-out points, by small encoders of a few thousand points.
- The paper does not say how single labels are ranked. Here the document's neighbours vote, from three sources: the
  label vectors, the codes of the training points' label sets, and the codes of the training points' features. Who
  votes, and how, is chosen on held-out points; then the encoders are trained again on everything.
- Several pairs of encoders are trained side by side, and their cosines averaged; `encoders` = 1 is the paper's.
- What is kept is rounded to int8 with a scale for each row; `precision` = float32 keeps all of it.
"""

from __future__ import annotations

import math
import time
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
from zipfel.index.blend import RARITY, Blend, Neighbourhood
from zipfel.losses.contrastive import noise_contrastive
from zipfel.losses.infonce import info_nce
from zipfel.methods.base import Method, Points, State, pack_csr, unpack_csr
from zipfel.methods.mnn_config import SETTINGS, SOURCES, MnnConfig
from zipfel.methods.mnn_encoders import Codes, Encoders, ballots, fingerprints
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.nn.bag import LocalRows, bag
from zipfel.nn.quantize import pack_table, rounded, unpack_table
from zipfel.nn.table import Table
from zipfel.ranking import PAD, Ranking
from zipfel.run import Run
from zipfel.threads import at_once
from zipfel.training import Batch, Batches, Plan, Trainer

NEIGHBOURS, SHARPNESS = (20, 80, 320), (5.0, 10.0, 20.0)
_STEPS, _FEW, _SMALL, _MANY = 400, 10, 10_000, 20_000
"""Steps that training takes at least; points below which none is held out, from which on there is a fourth encoder, and
from which on batches are larger."""
_CHANCE = 0.005
"""By so much the mean of P@1, 3 and 5 on a thousand points differs by luck."""
_SPARE = 0.0005
"""What rare labels' louder votes may cost of that mean."""
_SKETCH = {"dim": 100, "encoders": 1, "batch": 256, "lr": 5e-3, "n_neighbors": 80, "sharpness": 10.0}
_SKETCHED, _JUDGED, _SKETCH_STEPS = 5000, 2000, 240
"""What a setting is judged by: small encoders of so many points, by so many others besides the held-out ones. With
half as many points, the wrong temperature won on two of three parts of delicious."""
_LARGE = 2**30
"""Bytes of tables from which on two trainings follow one another; below, they run side by side."""


class Mnn(Method):
    """Documents and label sets in one cosine space; a document's neighbours vote for its labels."""

    name: ClassVar[str] = "mnn"
    title: ClassVar[str] = "Matching Neural Network: documents and label sets in one cosine space"
    paper: ClassVar[str] = "Zhao, Li, Zuo and Wu: Matching Neural Network for Extreme Multi-Label Learning"
    Config = MnnConfig
    config: MnnConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"loss": "contrastive", "dim": 300},
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

    # -- training: choose on held-out points, then train on everything

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        start = time.monotonic()
        if valid is not None:
            valid = Points(valid.X, valid.Y[:, : train.n_labels])
        rest, held = (train, valid) if valid is not None else self._held_out(train, run)
        with run.timed("setting"):
            self.setting_ = self._choose_setting(rest, held, run)
        everything = train if valid is None else train.joined(valid)
        with run.timed("training"):
            if run.time_budget is None and self._bytes(train) < _LARGE:
                encoders = at_once(lambda: self._learn_votes(rest, held, run), lambda: self._train(everything, run))[1]
            else:
                encoders = self._learn_votes(rest, held, run)
                if run.time_left() > time.monotonic() - start:
                    encoders = self._train(everything, run)
        with run.timed("index"):
            self.encoders_, self.Y_ = encoders.rounded(self.config.precision), everything.Y
            self.neighbourhood_ = self._neighbourhood(self.encoders_, everything, run.seed, tuple(self.blend_.rules))

    def _held_out(self, train: Points, run: Run) -> tuple[Points, Points]:
        if train.n_points < _FEW:
            return train, train
        return train.split(self.config.valid_share, run.rng(10), at_most=1000)

    def _choose_setting(self, train: Points, valid: Points, run: Run) -> Mapping[str, float]:
        """The one of the loss's settings whose small encoders answer best; what the user has set stays."""
        c, own = self.config, self.config.to_dict()
        settings = [{k: own[k] or v for k, v in setting.items()} for setting in SETTINGS[c.loss]]
        if settings[0] == settings[1]:
            return settings[0]
        order, n = run.rng(13).permutation(train.n_points), min(_SKETCHED, -(-2 * train.n_points // 3))
        few, others = train.take(np.sort(order[:n])), train.take(np.sort(order[n : n + _JUDGED])).joined(valid)

        def judge(i: int) -> float:
            sketch = Mnn(c.replace(**_SKETCH, epochs=_SKETCH_STEPS * 256 // max(n, 2560)))
            sketch.setting_ = settings[i]
            encoders = sketch._train(few, run, f"mnn-setting-{i}")
            return sketch._choose_votes(encoders, few, others, run)[1]

        quality = at_once(lambda: judge(0), lambda: judge(1))
        for setting, found in zip(settings, quality, strict=True):
            run.progress.message(f"mean P@1,3,5 {found:.4f} with {setting}, in small")
        return settings[int(np.argmax(quality))]

    def _learn_votes(self, train: Points, valid: Points, run: Run) -> Encoders:
        """Who votes, and how, by encoders that have not seen the held-out points."""
        encoders = self._train(train, run, "mnn-choice")
        self.blend_, quality = self._choose_votes(encoders, train, valid, run)
        run.progress.message(f"mean P@1,3,5 {quality:.4f} with {self.blend_.facts()}")
        return encoders

    def _choose_votes(self, encoders: Encoders, train: Points, valid: Points, run: Run) -> tuple[Blend, float]:
        """Who votes, and how: what is best on the held-out points, and the mean of P@1, 3 and 5 that it has there.

        Label vectors join the blend only where that is worth more than chance: they are few, so that a weight that
        was right by luck moves every answer.
        """
        c = self.config
        neighbours = (c.n_neighbors,) if c.n_neighbors else NEIGHBOURS
        sharpness = SHARPNESS if c.sharpness is None else (c.sharpness,)
        near = self._neighbourhood(encoders, train, run.seed, SOURCES if c.ranking == "blend" else (c.ranking,))
        return near.choose(
            encoders.points(valid.X),
            valid.Y,
            n_neighbors=neighbours,
            sharpness=sharpness,
            rarity=RARITY if c.rarity is None else (c.rarity,),
            reserve=("labels",) if c.ranking == "blend" else (),
            chance=_CHANCE,
            spare=_SPARE,
        )

    def _bytes(self, train: Points) -> int:
        """What one training keeps in its tables: weights and Adam's two moments."""
        return 12 * (train.n_features + train.n_labels) * self._width(train)

    def _width(self, train: Points) -> int:
        """Numbers in all encoders' codes together."""
        return (self.config.encoders or (3 if train.n_points < _SMALL else 4)) * self.config.dim

    def _train(self, train: Points, run: Run, name: str = "mnn") -> Encoders:
        c, width = self.config, self._width(train)
        tables = {
            "features": Table.normal(train.n_features, width, c.dim**-0.5, run.rng(11)),
            "labels": Table.normal(train.n_labels, width, c.dim**-0.5, run.rng(12)),
        }
        matched = np.flatnonzero((np.diff(train.X.indptr) > 0) & (np.diff(train.Y.indptr) > 0))
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
        epochs = c.epochs or max(12, min(25, math.ceil(_STEPS / max(1, len(batches)))))
        plan = Plan(epochs=epochs, lr=c.lr, schedule="linear")
        Trainer(run, batches, self._objective, plan, tables=tables, name=name).fit()
        return Encoders(tables["features"].numpy(), tables["labels"].numpy(), c.dim)

    # -- prediction: encode, search, vote

    def _neighbourhood(self, encoders: Encoders, train: Points, seed: int, sources: tuple[str, ...]) -> Neighbourhood:
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
        return Neighbourhood(codes, ballots(train.Y), seed=seed)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        codes = self.encoders_.points(X)
        ranking = self.neighbourhood_.rank(codes, self.blend_, k)
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
        width = state.array("features", ndim=2).shape[1]
        if width == 0 or width % self.config.dim or self.config.encoders not in (None, width // self.config.dim):
            raise ModelFileError(f"codes of {width} numbers in the model do not go with its dim and encoders")
        features = unpack_table("features", state.arrays, n_features, width)
        labels = unpack_table("label_vectors", state.arrays, n_labels, width)
        self.encoders_ = Encoders(features, labels, self.config.dim)
        self.Y_ = unpack_csr(state, "Y", (n_points, n_labels))
        arrays = dict(state.arrays)
        for name in (f"{source}.vectors" for source in indexes):
            arrays[name] = unpack_table(name, arrays, len(state.array(name, ndim=2)), width)
        self.neighbourhood_ = Neighbourhood.restored(arrays, indexes, ballots(self.Y_), width)
