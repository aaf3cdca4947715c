"""LightDXML: label embeddings find the hard labels, one-vs-all classifiers are trained on those, in cycles.

Mishra, Dasgupta, Jawanpuria, Mishra, Kumar: Light-weight Deep Extreme Multilabel Classification. IJCNN 2023.

Algorithm 1                                                                         here
Step 1  x_i = TF-IDF weighted sum of token embeddings                               `token_table`, `_encode`
Step 2  z_j = ReLU(W2 (W1 mu_j + b1) + b2), mu_j = mean of label j's x_i   Eq. 4-5  `LabelEncoder`
        sum over positives of log(1 + ||x_i - z_j||^2)                     Eq. 2    `embed_labels`
Step 3  S_k(x_i) = the k labels of largest cos(x_i, z_j)                   Eq. 6    `Shortlists`
Step 4  BCE of w_j . x_i over the positives and the shortlist              Eq. 7-8  `objective`
Step 5  steps 2-4 again every `relabel_every` epochs, step 2 after the last         `cycle`, `_finish`
Step 6  beta s(w_j . x_i) + (1 - beta) s(cos(x_i, z_j))                    Sec. F   `ShortlistScorer.rank`

Where we deviate (effects in docs/methods/lightdxml.md):
- The shortlists of a batch are sampled (`n_hard` labels a row) and united, beside `n_sampled` labels drawn at random:
  every row is scored against the union by one matrix product. A row's positives are never its negatives.
- The label encoder starts as the identity and the classifiers as their label's centroid, scaled (`start`): a label
  with three points would never get there by itself.
- Points and label codes may be negative (`relu` brings back the paper's ReLU on both), and are compared after the
  mean of all points is taken away.
- The `n_head` most frequent labels are in every shortlist: their centroids lie amid everything and near to nothing.
- Dropout on tokens and in the residual block; a classifier's last weight is its bias, at first the log-odds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel import config as declared
from zipfel.config import param
from zipfel.index import build_index
from zipfel.index.shortlist import ShortlistScorer
from zipfel.losses.bce import candidate_bce
from zipfel.methods.base import Method, Points, State
from zipfel.metrics import evaluate
from zipfel.nn.bag import bag, encode_bag
from zipfel.nn.encoder import LabelEncoder, ResidualEncoder
from zipfel.nn.quantize import PRECISIONS, pack_table, rounded, unpack_table
from zipfel.nn.score import candidate_scores, with_constant
from zipfel.nn.table import Table
from zipfel.nn.tokens import token_table
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.training import Batch, Batches, CandidateSampler, Plan, Trainer
from zipfel.training.label_codes import embed_labels, spread, start_classifiers

Array = npt.NDArray[np.float32]
_BLOCK = 512
LAST = 1_000_000
"""The cycle after the last epoch, for draws of its own."""
BETAS = (1.0, 0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)


@dataclass(frozen=True)
class LightDXMLConfig(declared.Config):
    """None means: sized by the data, see `sized`."""

    dim: int | None = param(None, "dimension of tokens, points and labels", symbol="D", low=2)
    epochs: int | None = param(None, "epochs of the classifier (Table V: 16-21)", symbol="e_model", low=1)
    batch: int | None = param(None, "points a step", low=1)
    lr: float = param(3e-3, "peak learning rate (Table V: 0.006-0.009 with other optimisers)", low=0)
    label_epochs: int = param(1, "epochs of the label encoder in each cycle (Table V: 4-8)", symbol="e_label", low=0)
    relabel_every: int | None = param(None, "epochs between cycles (Table V: 4-9)", symbol="^e_label", low=1)
    shortlist: int | None = param(None, "labels shortlisted a point (Table V: 500-650)", symbol="k", low=1)
    n_hard: int = param(3, "labels of its shortlist that a point brings to a batch", low=0)
    n_sampled: int = param(1500, "labels drawn at random for a batch", low=0)
    correction: float = param(0.0, "power of the importance correction of drawn negatives", low=0, high=1)
    n_head: int = param(500, "most frequent labels, which are in every shortlist", low=0)
    score_all: int = param(30_000, "labels up to which prediction scores all of them instead of a shortlist", low=0)
    start: float = param(4.0, "length of a classifier at its start, along its label's centroid", low=0)
    keep: float = param(0.8, "share of a point's tokens kept in training", low=0.01, high=1)
    dropout: float = param(0.2, "dropout in the residual block", low=0, high=0.95)
    beta: float | None = param(
        None, "weight of the classifier; None: chosen on validation", symbol="beta", low=0, high=1
    )
    relu: bool = param(False, "a space without negative numbers, as in the paper")
    tokens: str = param("corpus", "first token embeddings", choices=("random", "corpus", "file"))
    vectors: str | None = param(None, "a .vec file of word vectors, for tokens=file")
    index: str = param("auto", "how labels are searched", choices=("auto", "exact", "hnsw", "ivfpq"))
    precision: str = param("int8", "how the tables are saved", choices=PRECISIONS)
    patience: int | None = param(None, "epochs without a better validation P@1 after which training stops", low=1)
    valid_share: float = param(0.05, "share of train held out where no validation data are given", low=0.01, high=0.5)


def _table_v(beta: float, k: int, lr: float, epochs: int, label_epochs: int, every: int) -> dict[str, Any]:
    names = ("beta", "shortlist", "lr", "epochs", "label_epochs", "relabel_every")
    return dict(zip(names, (beta, k, lr, epochs, label_epochs, every), strict=True))


def sized(config: LightDXMLConfig, train: Points) -> LightDXMLConfig:
    """The config with every None filled by the size of the data; beta stays for validation to choose."""
    n_seen = int((np.bincount(train.Y.indices, minlength=train.n_labels) > 0).sum())
    dim = 512 if n_seen < 3000 else 256 if n_seen < 200_000 else 128
    steps = 800 if n_seen < 3000 else 700
    batch = 128 if train.n_points < 8000 else 256 if n_seen < 3000 else 512
    epochs = int(np.clip(round(steps * batch / max(1, train.n_points)), 3, 25))
    chosen = {
        "dim": dim,
        "batch": batch,
        "epochs": epochs,
        "relabel_every": max(1, -(-epochs // 2)),
        "shortlist": int(np.clip(round(40 * np.log(max(2, n_seen))), 100, 700)),
    }
    return config.replace(**{name: value for name, value in chosen.items() if getattr(config, name) is None})


PRESETS: dict[str, dict[str, Any]] = {
    "sized": {},
    "small": {"dim": 512, "batch": 256, "epochs": 15, "relabel_every": 8, "shortlist": 500, "dropout": 0.5},
    "large": {"dim": 256, "batch": 512, "epochs": 10, "relabel_every": 5, "shortlist": 500},
    "titles": {"dim": 256, "batch": 512, "epochs": 15, "relabel_every": 8, "shortlist": 500, "keep": 1.0},
    # Table V: beta, k, learning rate, e_model, e_label, ^e_label
    "eurlex-4k": _table_v(0.75, 500, 0.006, 16, 8, 8),
    "amazoncat-13k": _table_v(1.0, 500, 0.007, 21, 4, 4),
    "wiki10-31k": _table_v(0.60, 600, 0.009, 21, 8, 6),
    "wikiseealsotitles-320k": _table_v(0.1, 500, 0.008, 21, 6, 7),
    "amazontitles-670k": _table_v(1.0, 650, 0.007, 21, 6, 9),
}


class Shortlists:
    """Step 3, Eq. 6: the labels near each training point, and the label encoder; kept in checkpoints."""

    def __init__(self, sampler: CandidateSampler, settings: LightDXMLConfig) -> None:
        self.sampler, self.settings = sampler, settings
        self.encoder = LabelEncoder(int(settings.dim or 0), relu=settings.relu)

    def rebuild(self, hidden: Array, codes: Array, seed: int) -> None:
        """A coarse search will do: these are negatives to draw from. Not needed where all labels are candidates."""
        if self.sampler.all_seen is not None or not self.sampler.n_hard:
            return
        mean, k = hidden.mean(axis=0), min(100, int(self.settings.shortlist or 1))
        kind = "ivfpq" if self.settings.index == "auto" else self.settings.index
        index = build_index(codes - mean, kind=kind, queries=hidden - mean, k=k, recall=0.5, seed=seed)
        self.sampler.shortlist = index.search(hidden - mean, k)[0]

    def state(self) -> dict[str, Tensor]:
        shortlist = self.sampler.shortlist
        found = {} if shortlist is None else {"shortlist": torch.from_numpy(shortlist)}
        return found | {name: tensor.clone() for name, tensor in self.encoder.state_dict().items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.sampler.shortlist = state["shortlist"].numpy() if "shortlist" in state else None
        self.encoder.load_state_dict({name: tensor for name, tensor in state.items() if name != "shortlist"})


class LightDXML(Method):
    name = "lightdxml"
    title = "label embeddings shortlist, one-vs-all classifiers decide, trained in cycles (LightDXML)"
    paper = "Mishra et al.: Light-weight Deep Extreme Multilabel Classification. IJCNN 2023"
    Config = LightDXMLConfig
    config: LightDXMLConfig
    presets = PRESETS

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        self.settings_ = settings = sized(self.config, train)
        if valid is None:
            train, valid = train.split(settings.valid_share, run.rng(4), at_most=1000)
        self._prepare(train, run)
        Y = train.Y[:, self.scorer_.labels]
        sampler = CandidateSampler(Y, n_sampled=settings.n_sampled, n_hard=settings.n_hard, all_below=3000)
        shortlists = Shortlists(sampler, settings)
        train = Points(train.X, Y)
        self._train(train, valid, shortlists, run)
        self._finish(train, valid, shortlists.encoder, run)

    def _prepare(self, train: Points, run: Run) -> None:
        """Step 1: token embeddings; classifiers that know how frequent their label is, and no more."""
        settings, dim = self.settings_, int(self.settings_.dim or 0)
        counts = np.bincount(train.Y.indices, minlength=train.n_labels)
        labels = np.flatnonzero(counts) if counts.any() else np.arange(train.n_labels)  # never seen: never ranked
        counts = counts[labels]
        with run.timed("tokens"):
            tokens = token_table(
                train.X, dim, run.rng(1), kind=settings.tokens, path=settings.vectors, names=run.feature_names
            )
        classifiers = np.zeros((len(labels), dim), dtype=np.float32)
        classifiers[:, -1] = np.log((counts + 0.5) / (train.n_points - counts + 0.5))
        self.tables_ = {"features": Table(tokens), "labels": Table(classifiers)}
        self.tokens_ = self.tables_["features"].numpy()
        draw = torch.Generator().manual_seed(int(run.rng(2).integers(2**62)))
        self.encoder_ = ResidualEncoder(dim, settings.dropout, draw, relu=settings.relu)
        head = np.argsort(-counts, kind="stable")[: settings.n_head].astype(np.int64)
        mean, codes = np.zeros(dim, dtype=np.float32), np.zeros_like(classifiers)
        self.scorer_ = ShortlistScorer(self.tables_["labels"].numpy(), codes, mean, labels, head)
        self.beta_ = 1.0

    def _train(self, train: Points, valid: Points, shortlists: Shortlists, run: Run) -> None:
        """Steps 2 to 5."""
        settings = self.settings_
        size, every = int(settings.batch or 1), int(settings.relabel_every or 1)
        batches = Batches(train.X, train.Y, size=size, seed=run.seed, candidates=shortlists.sampler, keep=settings.keep)

        def cycle(epoch: int) -> None:
            if epoch % every == 0:
                hidden = self._encode(train.X)
                with run.timed("labels"):
                    codes = embed_labels(shortlists.encoder, hidden, train.Y, settings.label_epochs, run, epoch)
                with run.timed("shortlist"):
                    shortlists.rebuild(hidden, codes, run.seed)
                if epoch == 0:
                    start_classifiers(self.tables_["labels"], codes, hidden.mean(axis=0), settings.start)

        def validate() -> float:
            return evaluate(self.predict(valid.X, 1), valid.Y, ks=(1,))["P@1"]

        noise = 0.5 / np.sqrt(max(1, valid.n_points))  # at most the standard error of P@1
        plan = Plan(
            epochs=int(settings.epochs or 1), lr=settings.lr, patience=settings.patience, tolerance=float(noise)
        )
        trainer = Trainer(
            run, batches, self.objective, plan, tables=self.tables_, module=self.encoder_,
            validate=validate, before_epoch=cycle, kept={"shortlists": shortlists}, name=self.name,
        )  # fmt: skip
        with run.timed("classifier"):
            self.history_ = trainer.fit()

    def objective(self, batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        """Step 4, Eq. 7-8: the positives and the shortlisted labels of the batch."""
        found = batch.candidates
        assert found is not None
        hidden = self.encoder_(bag(rows["features"], batch.X))  # (B, d)
        logits = candidate_scores(with_constant(hidden), rows["labels"])  # (B, c)
        weight = found.inclusion**-self.settings_.correction if self.settings_.correction else None
        return candidate_bce(logits, found.rows, found.columns, weight)

    def _finish(self, train: Points, valid: Points, encoder: LabelEncoder, run: Run) -> None:
        """Re-embeds the labels, rounds the tables as they will be saved, builds the index, chooses beta."""
        settings, before = self.settings_, evaluate(self.predict(valid.X, 5), valid.Y)
        hidden = self._encode(train.X)
        with run.timed("labels"):
            codes = embed_labels(encoder, hidden, train.Y, settings.label_epochs, run, LAST)
        self.tokens_ = rounded(self.tokens_, settings.precision)
        classifiers, codes = (rounded(t, settings.precision) for t in (self.tables_["labels"].numpy(), codes))
        with run.timed("index"):
            scorer = ShortlistScorer(classifiers, codes, hidden.mean(axis=0), self.scorer_.labels, self.scorer_.head)
            self.scorer_ = scorer.indexed(settings.score_all, settings.index, hidden, 100, run.seed)
        after = evaluate(self.predict(valid.X, 5), valid.Y)
        with run.timed("beta"):
            self.beta_ = self._choose_beta(valid) if settings.beta is None else settings.beta
        lost = {f"P@{k}": round(before[f"P@{k}"] - after[f"P@{k}"], 4) for k in (1, 3, 5)}
        run.progress.message(f"tables in {settings.precision}: validation loses {lost}")
        self.facts_ = {"lost_by_rounding": lost, "spread": spread(codes), "best_epoch": self.history_.best_epoch}
        del self.tables_

    def _choose_beta(self, valid: Points) -> float:
        """The beta with the best P@1 + P@3 + P@5 on validation; ties go to the classifier."""
        scored = self.scorer_.score(self._encode(valid.X), int(self.settings_.shortlist or 1))

        def value(beta: float) -> float:
            found = evaluate(self.scorer_.rank(scored, beta, 5), valid.Y)
            return found["P@1"] + found["P@3"] + found["P@5"]

        return max(BETAS, key=lambda beta: (value(beta), beta))

    def _encode(self, X: sp.csr_matrix) -> Array:
        """(n, d) representations: step 1 and the residual block."""
        self.encoder_.eval()
        with torch.no_grad():
            hidden: Array = self.encoder_(torch.from_numpy(encode_bag(X, self.tokens_))).numpy()
        return hidden

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        """Step 6, in blocks of rows."""
        width = int(self.settings_.shortlist or 1)
        blocks = [self._encode(X[i : i + _BLOCK]) for i in range(0, max(1, X.shape[0]), _BLOCK)]
        return Ranking.concatenate([self.scorer_.rank(self.scorer_.score(b, width), self.beta_, k) for b in blocks])

    def state(self) -> State:
        precision = self.settings_.precision
        arrays, index = self.scorer_.state(precision)
        dense = {f"encoder.{name}": tensor.numpy() for name, tensor in self.encoder_.state_dict().items()}
        facts = {"settings": self.settings_.to_dict(), "beta": self.beta_, "index": index, "training": self.facts_}
        return State({**arrays, **dense, **pack_table("tokens", self.tokens_, precision)}, facts)

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        facts = state.facts
        self.settings_, self.facts_ = LightDXMLConfig.from_dict(facts["settings"]), dict(facts["training"])
        self.beta_, dim = float(facts["beta"]), int(self.settings_.dim or 0)
        self.scorer_ = ShortlistScorer.restored(state.arrays, facts["index"], n_labels, dim, self.settings_.n_head)
        self.tokens_ = unpack_table("tokens", state.arrays, n_features, dim)
        self.encoder_ = ResidualEncoder(dim, 0.0, torch.Generator(), relu=self.settings_.relu)
        names = self.encoder_.state_dict()
        self.encoder_.load_state_dict({name: torch.from_numpy(state.array(f"encoder.{name}")) for name in names})
