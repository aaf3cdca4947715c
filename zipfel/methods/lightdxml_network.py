"""One network of LightDXML, beside Algorithm 1: tokens, encoder, classifiers and label codes, trained in cycles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel.index import build_index
from zipfel.kernels.bag import encode_bag
from zipfel.losses.bce import candidate_bce
from zipfel.methods.base import Points, State
from zipfel.methods.lightdxml_config import LightDXMLConfig
from zipfel.metrics import evaluate
from zipfel.nn.bag import bag
from zipfel.nn.encoder import LabelEncoder, ResidualEncoder
from zipfel.nn.score import candidate_scores, with_constant
from zipfel.nn.table import Table
from zipfel.nn.tokens import token_table
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.training import Batch, Batches, CandidateSampler, Plan, Trainer
from zipfel.training.label_codes import embed_labels, spread, start_classifiers
from zipfel.training.shortlist import Ids, Scored, ShortlistScorer, ranked

Array = npt.NDArray[np.float32]
LAST = 1_000_000
"""The cycle after the last epoch, for draws of its own."""
_SHORTLISTED = 10_000
"""Points that get a shortlist in each cycle at least."""
_CHECKED = 1000
"""Held-out points that are asked after each epoch at most."""
_BLOCK = 256
"""Rows that are scored at a time: larger arrays would come from fresh memory each time."""


class Shortlists:
    """Step 3, Eq. 6: the labels near each training point, and the label encoder; kept in checkpoints."""

    def __init__(self, sampler: CandidateSampler, settings: LightDXMLConfig) -> None:
        self.sampler, self.settings = sampler, settings
        self.encoder = LabelEncoder(int(settings.dim or 0), relu=settings.relu)

    def rebuild(self, hidden: Array, codes: Array, rng: np.random.Generator) -> None:
        """A coarse search, of a third of the points each time, will do: these are negatives to draw from. Not needed
        where all labels are candidates."""
        if self.sampler.all_seen is not None or not self.sampler.n_hard:
            return
        rows = rng.permutation(len(hidden))[: max(_SHORTLISTED, len(hidden) // 3)]
        mean, k = hidden.mean(axis=0), min(50, int(self.settings.shortlist or 1))
        seed = int(rng.integers(2**31))
        kind, asked = self.settings.index, hidden[rows] - mean
        index = build_index(codes - mean, kind=kind, queries=asked, k=k, recall=0.5, seed=seed)
        self.sampler.shortlist = np.full((len(hidden), k), -1, dtype=np.int64)
        self.sampler.shortlist[rows] = index.search(asked, k)[0]

    def state(self) -> dict[str, Tensor]:
        shortlist = self.sampler.shortlist
        found = {} if shortlist is None else {"shortlist": torch.from_numpy(shortlist)}
        return found | {name: tensor.clone() for name, tensor in self.encoder.state_dict().items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.sampler.shortlist = state["shortlist"].numpy() if "shortlist" in state else None
        self.encoder.load_state_dict({name: tensor for name, tensor in state.items() if name != "shortlist"})


class Network:
    """What `fit` leaves: tokens (D, d), the encoder, and a scorer over the labels that were seen."""

    def __init__(self, settings: LightDXMLConfig) -> None:
        self.settings = settings
        self.dim, self.width = int(settings.dim or 0), int(settings.shortlist or 1)
        self.facts: dict[str, Any] = {}

    def fit(self, train: Points, valid: Points, run: Run, name: str) -> Network:
        """Algorithm 1. Labels without a training point are pruned: there is nothing to learn about them."""
        settings = self.settings
        labels = np.unique(train.Y.indices).astype(np.int64) if train.Y.nnz else np.arange(train.n_labels)
        train = Points(train.X, train.Y[:, labels])
        sampler = CandidateSampler(train.Y, n_sampled=settings.n_sampled, n_hard=settings.n_hard, all_below=3000)
        shortlists = Shortlists(sampler, settings)
        with run.timed("tokens"):
            self._prepare(train, labels, run)
        with run.timed("classifier"):
            history = self._trainer(train, valid, shortlists, run, name).fit()
        self.facts = {"best_epoch": history.best_epoch, "stopped": history.stopped, "epochs": history.epochs}
        self._finish(train, valid, shortlists.encoder, run)
        return self

    def _prepare(self, train: Points, labels: Ids, run: Run) -> None:
        """Step 1: token embeddings; classifiers that know how frequent their label is, and no more."""
        settings, names = self.settings, run.feature_names
        tokens = token_table(train.X, self.dim, run.rng(1), kind=settings.tokens, path=settings.vectors, names=names)
        counts = np.bincount(train.Y.indices, minlength=len(labels))
        classifiers = np.zeros((len(labels), self.dim), dtype=np.float32)
        classifiers[:, -1] = np.log((counts + 0.5) / (train.n_points - counts + 0.5))
        self.tables = {"features": Table(tokens), "labels": Table(classifiers)}
        self.tokens = self.tables["features"].numpy()
        draw = torch.Generator().manual_seed(int(run.rng(2).integers(2**62)))
        self.encoder = ResidualEncoder(self.dim, settings.dropout or 0.0, draw, relu=settings.relu)
        head = np.argsort(-counts, kind="stable")[: settings.n_head].astype(np.int64)
        mean, codes = np.zeros(self.dim, dtype=np.float32), np.zeros_like(classifiers)
        self.scorer = ShortlistScorer(self.tables["labels"].numpy(), codes, mean, labels, head)

    def _trainer(self, train: Points, valid: Points, shortlists: Shortlists, run: Run, name: str) -> Trainer:
        """Steps 2 to 5."""
        settings = self.settings
        size, every = int(settings.batch or 1), int(settings.relabel_every or 1)
        keep, sampler = settings.keep or 1.0, shortlists.sampler
        batches = Batches(train.X, train.Y, size=size, seed=run.seed, candidates=sampler, keep=keep)

        checked = _sample(valid)

        def cycle(epoch: int) -> None:
            if epoch % every == 0:
                hidden = self.encode(train.X)
                with run.timed("labels"):
                    codes = embed_labels(shortlists.encoder, hidden, train.Y, settings.label_epochs, run, epoch)
                with run.timed("shortlist"):
                    shortlists.rebuild(hidden, codes, run.rng(7, epoch))
                if epoch == 0:
                    start_classifiers(self.tables["labels"], codes, hidden.mean(axis=0), settings.start or 0.0)

        def validate() -> float:
            return evaluate(self.predict(checked.X, 1), checked.Y, ks=(1,))["P@1"]

        noise = 0.5 / np.sqrt(max(1, checked.n_points))  # at most the standard error of P@1
        plan = Plan(
            epochs=int(settings.epochs or 1),
            lr=float(settings.lr or 0.0),
            patience=settings.patience,
            tolerance=float(noise),
        )
        return Trainer(
            run, batches, self.objective, plan, tables=self.tables, module=self.encoder,
            validate=validate, before_epoch=cycle, kept={"shortlists": shortlists}, name=name,
        )  # fmt: skip

    def objective(self, batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        """Step 4, Eq. 7-8: the positives and the shortlisted labels of the batch."""
        found = batch.candidates
        assert found is not None
        hidden = self.encoder(bag(rows["features"], batch.X))  # (B, d)
        logits = candidate_scores(with_constant(hidden), rows["labels"])  # (B, c)
        weight = found.inclusion**-self.settings.correction if self.settings.correction else None
        return candidate_bce(logits, found.rows, found.columns, weight)

    def _finish(self, train: Points, valid: Points, encoder: LabelEncoder, run: Run) -> None:
        """Re-embeds the labels, rounds the tables as they will be saved, builds the index."""
        settings, valid = self.settings, _sample(valid)
        before = evaluate(self.predict(valid.X, 5), valid.Y)
        hidden = self.encode(train.X)
        with run.timed("labels"):
            codes = embed_labels(encoder, hidden, train.Y, settings.label_epochs, run, LAST)
        self.tokens = rounded(self.tokens, settings.precision)
        classifiers, codes = (rounded(t, settings.precision) for t in (self.tables["labels"].numpy(), codes))
        del self.tables
        with run.timed("index"):
            scorer = ShortlistScorer(classifiers, codes, hidden.mean(axis=0), self.scorer.labels, self.scorer.head)
            self.scorer = scorer.indexed(settings.score_all, settings.index, hidden, 100, run.seed)
        after = evaluate(self.predict(valid.X, 5), valid.Y)
        lost = {f"P@{k}": round(before[f"P@{k}"] - after[f"P@{k}"], 4) for k in (1, 3, 5)}
        run.progress.message(f"tables in {settings.precision}: validation loses {lost}")
        self.facts |= {"lost_by_rounding": lost, "spread": spread(codes)}

    def encode(self, X: sp.csr_matrix) -> Array:
        """(n, d) representations: step 1 and the residual block."""
        self.encoder.eval()
        with torch.no_grad():
            hidden: Array = self.encoder(torch.from_numpy(encode_bag(X, self.tokens))).numpy()
        return hidden

    def shortlist(self, X: sp.csr_matrix) -> Ids | None:
        return self.scorer.shortlist(self.encode(X), self.width)

    def score(self, X: sp.csr_matrix, places: Ids | None) -> Scored:
        return self.scorer.score(self.encode(X), places)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        return self.best(self.encode(X), k)

    def best(self, hidden: Array, k: int) -> Ranking:
        """The k labels with the largest logits: the classifiers of this network alone."""
        parts = [self._best(hidden[a : a + _BLOCK], k) for a in range(0, max(1, len(hidden)), _BLOCK)]
        return Ranking.concatenate(parts)

    def _best(self, hidden: Array, k: int) -> Ranking:
        places = self.scorer.shortlist(hidden, self.width)
        return ranked(self.scorer.labels, places, self.scorer.logits(hidden, places), k)

    def state(self) -> State:
        precision = self.settings.precision
        arrays, index = self.scorer.state(precision)
        dense = {f"encoder.{name}": tensor.numpy() for name, tensor in self.encoder.state_dict().items()}
        facts = {"index": index, "training": self.facts}
        return State({**arrays, **dense, **pack_table("tokens", self.tokens, precision)}, facts)

    def restore(self, state: State, n_features: int, n_labels: int) -> Network:
        settings, facts = self.settings, state.facts
        self.facts = dict(facts["training"])
        self.scorer = ShortlistScorer.restored(state.arrays, facts["index"], n_labels, self.dim, settings.n_head)
        self.tokens = unpack_table("tokens", state.arrays, n_features, self.dim)
        self.encoder = ResidualEncoder(self.dim, 0.0, torch.Generator(), relu=settings.relu)
        names = self.encoder.state_dict()
        self.encoder.load_state_dict({name: torch.from_numpy(state.array(f"encoder.{name}")) for name in names})
        return self


def _sample(points: Points) -> Points:
    """At most `_CHECKED` of them, evenly spread."""
    return points.take(np.unique(np.linspace(0, points.n_points - 1, min(_CHECKED, points.n_points)).astype(np.intp)))
