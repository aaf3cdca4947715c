"""MNN: two averaging encoders, one cosine space.

Zhao, Li, Zuo, Wu: Matching Neural Network for Extreme Multi-Label Learning.

A document's code is the weighted mean of its features' vectors, a label set's code the mean of its labels' vectors;
both are trained so that a document and its own label set point the same way.

    f_y(y) = 1/T sum_t W y_t                                        Eq. 1, 3     `unit_codes` of label sets
    r_k ~ Bernoulli(p)                                              Eq. 5        `Batches(keep=p)`
    f_x(x) = 1/|r|_1 sum_k r_k w_k W' x_k                           Eq. 2, 4-7   `unit_codes` of the kept features
    c(x, y) = <f_x, f_y> / |f_x| |f_y|                              Eq. 8        `Mnn.objective`
    h label sets sampled from train                                 3.3          `SetDraws`
    L+ = (1 - c)^2 / 4;  L- = c^2 where c > m, the largest of h     Eq. 9-11     `losses.contrastive`

What the paper leaves open, and the value here (docs/methods/mnn.md has the measurements):
- How single labels are ranked: `ranking`. The k-NN votes of training points, found by the codes of their label sets
  (`sets`) or of their features (`points`), or the cosine with each label's own vector (`labels`). `blend` weighs the
  three on held-out points.
- h, m and p: held-out points choose from SETTINGS. The optimiser: Adam with a linearly falling rate.
- The h negatives are label sets of the same batch, which is a random sample of train. Equal sets are no negatives.
Deviations without effect: 1/T, 1/|r|_1 and the row's length cancel in the cosine and are left out; Eq. 11's sum is a
mean, which Adam does not tell apart. A row whose features would all be dropped keeps them all.
Beyond the paper, off by default: `loss=infonce`, `encoders` above 1 (mean of their cosines), `rarity`, `precision`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from torch import Tensor

from zipfel import config as declared
from zipfel.config import param
from zipfel.errors import ModelFileError
from zipfel.index.blend import RARITY, Blend, JointNeighbors
from zipfel.index.votes import ballots
from zipfel.losses.contrastive import hardest_negative, noise_contrastive
from zipfel.losses.infonce import info_nce
from zipfel.methods.base import Method, Points, State, pack_csr, unpack_csr
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.nn.averaging import Codes, Encoders, unit_codes
from zipfel.nn.shares import together
from zipfel.nn.table import Table
from zipfel.quantize import PRECISIONS, rounded
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.system.threads import at_once
from zipfel.training import Batch, Batches, Plan, Trainer
from zipfel.training.held_out import candidates_of, split_to_choose
from zipfel.training.label_sets import SetDraws
from zipfel.training.schedule import epochs_for

SOURCES = ("labels", "sets", "points")
NEIGHBOURS, SHARPNESS = {"contrastive": (20, 80, 160), "infonce": (20, 80, 320)}, (5.0, 10.0, 20.0)
_MANY = 20_000
"""Points from which on batches are larger."""
_STEPS, _EPOCHS = 600, (8, 25)
"""Steps that training takes at least, within so many epochs."""
_CHANCE = 0.005
"""How much the mean of P@1, P@3 and P@5 on a thousand points differs between seeds. Label vectors join the blend only
if they gain more."""
_SPARE = 0.0005
"""What louder votes for rare labels may cost of that mean."""


@dataclass(frozen=True)
class MnnConfig(declared.Config):
    """The paper prints no value for any of these; docs/methods/mnn.md has the measurements behind the defaults."""

    dim: int = param(300, "numbers in a code (the paper: open)", low=1)
    negatives: int | None = param(None, "label sets sampled a row (3.3: open); none: see SETTINGS", symbol="h", low=1)
    margin: float | None = param(
        None, "cosine below which a negative is free (Eq. 10: open); none: as h", symbol="m", low=0, high=1
    )
    keep: float | None = param(None, "share of features kept (Eq. 5: open); none: as h", symbol="p", low=0.01, high=1)
    exclude: str = param("identical", "label sets that are no negatives", choices=("identical", "overlapping"))
    epochs: int | None = param(None, "passes over train; none: 8, or what makes 600 steps, to 25", low=1)
    batch: int | None = param(None, "rows a step; none: 256, from 20,000 rows on 512", low=1)
    lr: float = param(3e-3, "Adam's rate at the start, falling linearly to 0", low=1e-6)
    ranking: str = param("blend", "whose votes rank single labels (the paper: open)", choices=("blend", *SOURCES))
    n_neighbors: int | None = param(None, "voters of a source; none: by held-out points", low=1)
    sharpness: float | None = param(None, "t of the votes exp(t (cos - best)); none: by held-out points", low=0)
    valid_share: float = param(0.2, "share of train to hold out where no validation set is given", low=0.01, high=0.5)
    loss: str = param("contrastive", "Eq. 9-11; beyond the paper: infonce", choices=("contrastive", "infonce"))
    temperature: float | None = param(None, "of InfoNCE, beyond the paper; none: see SETTINGS", low=1e-3)
    encoders: int = param(1, "pairs of encoders side by side; more than one is beyond the paper", low=1, high=16)
    rarity: float | None = param(
        0.0, "votes for label l count (1 + N_l)^-r, beyond the paper; none: by held-out points", symbol="r", low=0
    )
    precision: str = param("float32", "how vectors and codes are kept", choices=PRECISIONS)

    removed: ClassVar[Mapping[str, str]] = {
        "tail": "use --method auto, which joins MNN's votes with the words of rare labels' documents",
        "bonus": "use --set rarity=0.1 for louder votes for rare labels, or --method auto",
    }


SETTINGS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "contrastive": ({"negatives": 25, "keep": 0.8, "margin": 0.2}, {"negatives": 5, "keep": 0.5, "margin": 0.1}),
    "infonce": ({"temperature": 0.05, "keep": 0.7}, {"temperature": 0.15, "keep": 0.5}),
}
"""Values of a loss that held-out points choose from, if none is set."""
PAPER = {"loss": "contrastive", "encoders": 1, "precision": "float32", "rarity": 0.0, "ranking": "blend"}


class Mnn(Method):
    """Documents and label sets in one cosine space; a document's neighbours vote for its labels."""

    name: ClassVar[str] = "mnn"
    title: ClassVar[str] = "Matching Neural Network: documents and label sets in one cosine space"
    paper: ClassVar[str] = "Zhao, Li, Zuo and Wu: Matching Neural Network for Extreme Multi-Label Learning"
    by_workers: ClassVar[str] = "network"
    Config = MnnConfig
    config: MnnConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "best": {"loss": "infonce", "encoders": 6, "dim": 150, "lr": 5e-3, "rarity": None, "precision": "int8"},
        **dict.fromkeys(("paper", "bibtex", "delicious", "eurlex", "wiki10"), PAPER),
        **{name: {**PAPER, "dim": 100, "epochs": 5} for name in ("delicious-large", "amazon")},
    }

    # -- the objective

    @staticmethod
    def objective(c: MnnConfig, batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        """Eq. 11 (or InfoNCE), the mean over batch and encoders."""
        f_x = unit_codes(rows["features"], batch.X, c.dim)  # (E, B, dim), Eq. 7
        f_y = unit_codes(rows["labels"], batch.extra["sets"], c.dim)  # (E, B, dim), Eq. 3
        others = together(f_y, dim=1)
        if c.loss == "infonce":
            similarity = f_x @ others.transpose(1, 2)
            return info_nce(similarity, c.temperature or 0.1, batch.extra["excluded"], batch.first)
        negative = hardest_negative(f_x, others, batch.extra["sampled"], batch.extra["excluded"])  # (E, B)
        positive = (f_x * f_y).sum(dim=2)  # (E, B), Eq. 8
        return noise_contrastive(positive.flatten(), negative.flatten()[:, None], c.margin or 0.0)  # Eq. 9-11

    # -- fit: a pair of encoders on which the votes are chosen, then the final ones on all points

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        rest, held, everything = split_to_choose(train, valid, self.config.valid_share, run.rng(10))
        with run.timed("choice"):
            self.setting_, self.blend_ = self._choose(rest, held, run.part(0.5))
        with run.timed("training"):
            c = self.config.replace(**self.setting_)
            self.encoders_ = self._train(everything, run, c, c.encoders, "mnn").rounded(c.precision)
        with run.timed("index"):
            self.Y_, self.priors_ = everything.Y, label_priors(everything.Y)
            self.neighbourhood_ = self._neighbourhood(self.encoders_, everything, run.seed, list(self.blend_.rules))

    def _choose(self, rest: Points, held: Points, run: Run) -> tuple[dict[str, Any], Blend]:
        """The setting and the votes with the best mean of P@1, P@3, P@5 on points that the encoders have not seen."""
        settings = SETTINGS[self.config.loss]
        configs = candidates_of(self.config, settings)
        found = at_once(*(partial(self._judge, c, rest, held, run, f"mnn-{i}") for i, c in enumerate(configs)))
        best = max(range(len(found)), key=lambda i: found[i][1])
        setting = {name: getattr(configs[best], name) for name in settings[0]}
        run.progress.message(f"mean P@1,3,5 {found[best][1]:.4f} with {setting}, {found[best][0].facts()}")
        return setting, found[best][0]

    def _judge(self, c: MnnConfig, rest: Points, held: Points, run: Run, name: str) -> tuple[Blend, float]:
        """The best votes of one pair of encoders, and how good they are."""
        encoders = self._train(rest, run.part(0.5), c, 1, name)
        sources = SOURCES if c.ranking == "blend" else (c.ranking,)
        near = self._neighbourhood(encoders, rest, run.seed, sources)
        n_neighbors = (c.n_neighbors,) if c.n_neighbors else NEIGHBOURS[c.loss]
        sharpness = SHARPNESS if c.sharpness is None else (c.sharpness,)
        return near.choose(
            encoders.points(held.X), held.Y, n_neighbors=n_neighbors, sharpness=sharpness,
            rarity=RARITY if c.rarity is None else (c.rarity,),
            reserve=("labels",) if c.ranking == "blend" else (), chance=_CHANCE, spare=_SPARE,
        )  # fmt: skip

    def _train(self, train: Points, run: Run, c: MnnConfig, encoders: int, name: str) -> Encoders:
        """So many pairs of encoders side by side; each name draws its own first vectors."""
        salt = zlib.crc32(name.encode())
        tables = {
            "features": Table.normal(train.n_features, encoders * c.dim, c.dim**-0.5, run.rng(11, salt)),
            "labels": Table.normal(train.n_labels, encoders * c.dim, c.dim**-0.5, run.rng(12, salt)),
        }
        matched = np.flatnonzero((np.diff(train.X.indptr) > 0) & (np.diff(train.Y.indptr) > 0))
        known = np.bincount(train.X[matched].indices, minlength=train.n_features) > 0
        tables["features"].numpy()[~known] = 0  # an untrained random vector would disturb the known ones
        draws = SetDraws(train.Y, exclude=c.exclude, sampled=c.negatives or 1)
        batches = Batches(
            train.X, train.Y, size=c.batch or (256 if len(matched) < _MANY else 512), seed=run.seed, keep=c.keep or 1.0,
            rows=matched, extend=draws,
        )  # fmt: skip
        epochs = c.epochs or epochs_for(_STEPS, len(batches), _EPOCHS)
        plan = Plan(epochs=epochs, lr=c.lr, schedule="linear")
        Trainer(run, batches, partial(self.objective, c), plan, tables=tables, name=name).fit()
        return Encoders(tables["features"].numpy(), tables["labels"].numpy(), c.dim)

    # -- predict: encode, search, vote

    def _neighbourhood(self, encoders: Encoders, train: Points, seed: int, sources: Sequence[str]) -> JointNeighbors:
        """Label l is voter l, training point i is voter n_labels + i; those without a code have no vote."""
        n_labels = train.n_labels
        labelled = np.diff(train.Y.indptr) > 0
        seen, points = np.unique(train.Y.indices).astype(np.int64), np.flatnonzero(labelled)
        full = np.flatnonzero(labelled & (np.diff(train.X.indptr) > 0))
        voters: dict[str, tuple[npt.NDArray[np.int64], Callable[[], Codes]]] = {
            "labels": (seen, lambda: encoders.sets(sp.identity(n_labels, dtype=np.float32, format="csr")[seen])),
            "sets": (n_labels + points, lambda: encoders.sets(train.Y[points])),
            "points": (n_labels + full, lambda: encoders.points(train.X[full])),
        }
        codes = {source: (voters[source][0], rounded(voters[source][1](), self.config.precision)) for source in sources}
        return JointNeighbors(codes, ballots(train.Y), metric="inner", seed=seed)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        codes = self.encoders_.points(X)
        ranking = self.neighbourhood_.rank(codes, self.blend_, k)
        return fill_blank(ranking, self.priors_, ~np.any(codes, axis=1))  # zeros are equally far from all

    # -- state

    def state(self) -> State:
        arrays, indexes = self.neighbourhood_.state(self.config.precision)
        arrays |= {**self.encoders_.arrays(self.config.precision), **pack_csr("Y", self.Y_)}
        chosen = {"setting": self.setting_, "blend": self.blend_.facts(), "n_points": self.Y_.shape[0]}
        return State(arrays, {**chosen, "indexes": indexes})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        try:
            self.setting_, self.blend_ = dict(state.facts["setting"]), Blend.from_facts(state.facts["blend"])
            n_points, indexes = int(state.fact("n_points", low=0)), dict(state.facts["indexes"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelFileError(f"the model's facts are damaged: {error}") from None
        if not self.blend_.rules.keys() <= indexes.keys():
            raise ModelFileError("the model lacks an index that its votes need")
        c, self.Y_ = self.config, unpack_csr(state, "Y", (n_points, n_labels))
        self.encoders_, self.priors_ = (
            Encoders.restored(state, n_features, n_labels, c.encoders, c.dim),
            label_priors(self.Y_),
        )
        self.neighbourhood_ = JointNeighbors.restored(state.arrays, indexes, ballots(self.Y_), c.encoders * c.dim)
