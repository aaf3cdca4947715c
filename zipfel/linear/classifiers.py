"""One sparse linear classifier a label, learnt on shortlisted negatives; scores (document, shortlist) pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.config import Config, param
from zipfel.errors import ModelFileError
from zipfel.executor import current_executor, current_label_shards
from zipfel.kernels.sparse_rows import canonical, row_lengths, values_at, with_values
from zipfel.linear._scorer import MANY, WeightsByFeature, feature_counts, score_by_feature, score_pairs
from zipfel.linear._solver import solve_labels
from zipfel.linear.problems import Problems
from zipfel.system.memory import give_back
from zipfel.system.threads import at_once, get_threads, over_blocks

Array = npt.NDArray[Any]

DEFAULT_COST = 0.3
RUNS_A_THREAD = 8
"""Labels are handed out in this many runs a thread: head labels take long, and threads should end together."""
_AT_A_TIME = 1 << 20
"""Weights that are looked at at a time: of a million points there are a hundred million."""
_WORTH_SENDING, _WORTH_RETURNING = 1 << 18, 1 << 22
"""Documents of all problems together from which on an executor's workers solve them, and from which on freed memory is
returned to the system."""


@dataclass(frozen=True)
class LinearConfig(Config):
    """Parameters of the classifiers; LIBLINEAR's names where it has them."""

    loss: str = param("squared_hinge", "loss of each classifier", choices=("squared_hinge", "logistic"))
    cost: float | None = param(
        None,
        "weight of the loss against the squared length of the weights; none: 0.3, or auto's choice",
        symbol="C",
        low=1e-6,
    )
    positive_cost: float = param(1.0, "how many times as much a positive counts as a negative", low=1e-3)
    tolerance: float = param(0.3, "largest violation of the optimum at which a problem counts as solved", low=1e-6)
    iterations: int = param(20, "passes over a problem at most", low=1)
    damping: float = param(
        0.6, "power of the feature values, of which rows are scaled to unit length; 1: as they are", low=0.1, high=2
    )
    threshold: float = param(0.03, "weights up to this are dropped", low=0)
    precision: str = param("int8", "how weights are kept", choices=("float32", "float16", "int8"))


class LinearClassifiers:
    """w_l and b_l for every label l, each learnt only on `Problems`: L2-regularised, by dual coordinate descent.

    After `fit`: weights_ (n_labels, n_features) CSR, bias_ (n_labels,), both already rounded to `precision`, so that
    a saved model answers the same. A label without positives scores -1 (squared hinge) or its like, a plain no.
    """

    def __init__(self, config: LinearConfig | None = None) -> None:
        self.config = config or LinearConfig()

    def fit(
        self, X: sp.csr_matrix, problems: Problems | Iterable[Problems], *, seed: int = 0, threads: int | None = None
    ) -> LinearClassifiers:
        """X: (n, n_features) rows, numbered as in `problems`: those of all labels, or of one run of labels after the
        other, which gives the same. The same seed gives the same weights on any threads; default: as many as others
        use."""
        threads = threads or get_threads()
        c, X = self.config, damped(X, self.config.damping)
        rows, square = for_kernels(X), 1.0 + np.square(row_lengths(X))
        cost = DEFAULT_COST if c.cost is None else c.cost
        costs = np.array([cost, cost * c.positive_cost])

        settings = costs, c.loss == "logistic", c.tolerance, c.iterations, c.threshold, c.precision
        runs = (problems,) if isinstance(problems, Problems) else problems
        solved = _solved_runs((*rows, square, int(X.shape[1]), *settings), runs, seed, threads)
        counts, features, stored, scale, bias, n_positive = _joined(solved)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.bias_: Array = np.where(n_positive > 0, bias, -1.0).astype(np.float32)
        self._keep(indptr, features, stored, scale, X.shape[1])
        return self

    def _keep(self, indptr: Array, features: Array, stored: Array, scale: Array, n_features: int) -> None:
        """stored: weights in their saved form; scale: (n_labels,) what an int8 step of each label is worth."""
        self._stored, self._scale, self.n_features = stored, scale, n_features
        weights = stored if stored.dtype == np.int8 else stored.astype(np.float32, copy=False)
        self._arrays = indptr, features.astype(np.int32, copy=False).view(np.uint32), weights
        for of_others in ("_n_weights", "_n_rare", "_by_feature"):
            self.__dict__.pop(of_others, None)

    @property
    def weights_(self) -> sp.csr_matrix:
        """(n_labels, n_features) as numbers, made anew each time: what is kept takes half of the memory."""
        indptr, features, weights = self._arrays
        data = weights * np.repeat(self._scale, np.diff(indptr))
        return sp.csr_matrix((data, features.view(np.int32), indptr), shape=(len(indptr) - 1, self.n_features))

    @property
    def ends(self) -> Array:
        """(n_labels + 1,) where each label's weights end, counted through all labels."""
        return self._arrays[0]

    @property
    def n_labels(self) -> int:
        return len(self.bias_)

    def score(self, X: sp.csr_matrix, labels: Array) -> npt.NDArray[np.float32]:
        """(n, k) margins x . w_l + b_l of the labels (n, k) of each row; -inf where a label is -1."""
        shards = current_label_shards()
        if shards is not None:
            return shards.score(self, X, labels)
        return self.score_here(X, labels)

    def score_here(self, X: sp.csr_matrix, labels: Array) -> npt.NDArray[np.float32]:
        """`score` by this process, whoever scores otherwise."""
        out = np.empty(labels.shape, dtype=np.float32)
        rows, ids = for_kernels(damped(X, self.config.damping)), labels.astype(np.int64, copy=False)

        def by_label(start: int, stop: int) -> None:
            dense = np.zeros(X.shape[1], dtype=np.float32)
            score_pairs(start, stop, *rows, ids, *self._arrays, self._scale, self.bias_, dense, out)

        def by_feature(start: int, stop: int) -> None:
            slots = np.zeros(len(self.bias_), dtype=np.int32)
            score_by_feature(start, stop, *rows, ids, *self._by_feature.arrays, self.bias_, slots, out)

        over_blocks(by_feature if self._is_cheaper_by_feature(rows[1], labels) else by_label, X.shape[0])
        return out

    def by_feature(self, x: sp.csr_matrix, label: int) -> npt.NDArray[np.float64]:
        """(t,) x_j w_lj for each of the t features of one document x (1, n_features): with b_l the margin."""
        x = damped(canonical(x), self.config.damping)
        indptr, features, weights = self._arrays
        own = slice(indptr[label], indptr[label + 1])
        values = weights[own] * self._scale[label]
        row = sp.csr_matrix((values, features[own].view(np.int32), [0, len(values)]), (1, self.n_features))
        return np.asarray(x.data * values_at(row, 0, x.indices), dtype=np.float64)

    def has_weight(self) -> npt.NDArray[np.bool_]:
        """(n_features,) features that some label has a weight for."""
        found, features = np.zeros(self.n_features, dtype=bool), self._arrays[1]
        for a in range(0, len(features), _AT_A_TIME):
            found[features[a : a + _AT_A_TIME]] = True
        return found

    def _is_cheaper_by_feature(self, features: Array, labels: Array) -> bool:
        """Whether the features of some documents have fewer weights than are looked at of their labels (n, k)."""
        added, looked_up = int(self._n_rare[features].sum()), len(features) * labels.shape[1]
        most = -(-MANY * len(features) // max(1, len(labels)))
        return bool(added + looked_up < np.minimum(self._n_weights[labels], most).sum())

    @cached_property
    def _n_weights(self) -> Array:
        """(n_labels,) features that each has a weight for."""
        return np.diff(self._arrays[0])

    @cached_property
    def _n_rare(self) -> Array:
        """(n_features,) labels that have a weight for each rare feature; 0 for the frequent ones."""
        counts = feature_counts(self._arrays[1].view(np.int32), self.n_features)
        return np.where(WeightsByFeature.are_frequent(counts, len(self.bias_)), 0, counts)

    @cached_property
    def _by_feature(self) -> WeightsByFeature:
        indptr, features, weights = self._arrays
        shape = len(indptr) - 1, self.n_features
        return WeightsByFeature.build(sp.csr_matrix((weights, features.view(np.int32), indptr), shape), self._scale)

    def of_labels(self, labels: Array) -> dict[str, Array]:
        """The `state` of these labels alone, in this order."""
        kept, counts = self.state(), self._n_weights[labels]
        indptr = np.append(0, np.cumsum(counts)).astype(np.int64)
        own = np.repeat(kept["indptr"][labels] - indptr[:-1], counts) + np.arange(indptr[-1])
        weights = {name: kept[name][own] for name in ("features", "weights")}
        return {"indptr": indptr, **weights, **{name: kept[name][labels] for name in ("scale", "bias")}}

    def state(self) -> dict[str, Array]:
        """Arrays for a model file; small feature ids take two bytes."""
        indptr, features, _ = self._arrays
        is_narrow = self.n_features <= np.iinfo(np.uint16).max
        return {
            "indptr": indptr,
            "features": features.astype(np.uint16) if is_narrow else features.view(np.int32),
            "weights": self._stored,
            "scale": self._scale,
            "bias": self.bias_,
        }

    @classmethod
    def restored(
        cls, arrays: Mapping[str, Array], n_features: int, n_labels: int, config: LinearConfig | None = None
    ) -> LinearClassifiers:
        """The counterpart of `state`; every index is checked, a model file may come from anywhere."""
        lacking = {"indptr", "features", "weights", "scale", "bias"} - set(arrays)
        if lacking:
            raise ModelFileError(f"the classifiers in the model lack {', '.join(sorted(lacking))}")
        indptr, features = arrays["indptr"].astype(np.int64), arrays["features"]
        weights, scale, bias = arrays["weights"], arrays["scale"], arrays["bias"].astype(np.float32)
        sound = (
            indptr.shape == (n_labels + 1,)
            and features.dtype.kind in "iu"
            and weights.dtype in (np.int8, np.float16, np.float32)
            and bias.shape == (n_labels,)
            and scale.shape == (n_labels,)
            and features.shape == weights.shape == (int(indptr[-1]),)
            and int(indptr[0]) == 0
            and bool((indptr[1:] >= indptr[:-1]).all())  # differences could wrap around
            and (len(features) == 0 or (int(features.min()) >= 0 and int(features.max()) < n_features))
            and all(bool(np.isfinite(a).all()) for a in (weights, scale, bias) if a.dtype.kind == "f")
        )
        if not sound:
            raise ModelFileError("the classifiers in the model are damaged: their arrays do not fit each other")
        model = cls(config)
        model.bias_ = bias
        model._keep(indptr, features, weights, scale.astype(np.float32), n_features)
        return model


def damped(X: sp.csr_matrix, power: float) -> sp.csr_matrix:
    """Values to the given power (the sign stays), rows of unit length; 1 leaves X as it is.

    With a power below 1 one rare word of a large weight dominates the others less.
    """
    if power == 1:
        return X
    X = canonical(X)
    values = X.data.astype(np.float32, copy=False)
    rows = with_values(X, np.copysign(np.abs(values) ** np.float32(power), values))
    lengths = row_lengths(rows)
    lengths[lengths == 0] = 1
    rows.data = (rows.data / np.repeat(lengths, np.diff(rows.indptr))).astype(np.float32)
    return rows


def _solved_runs(shared: tuple[Any, ...], runs: Iterable[Problems], seed: int, threads: int) -> list[tuple[Array, ...]]:
    """What `_solve_run` gives for each run of labels, and how many positives each label has."""
    found = []
    for problems in runs:
        found.append((*_joined(_solved(shared, problems, seed, threads)), problems.n_positive))
        if len(problems.docs) >= _WORTH_RETURNING:
            give_back()
    return found


def _solved(shared: tuple[Any, ...], problems: Problems, seed: int, threads: int) -> list[tuple[Array, ...]]:
    """What `_solve_run` gives for all labels, in runs: in threads, or by an executor's workers where there is one."""
    executor = current_executor()
    if executor is None or len(problems.docs) < _WORTH_SENDING:
        runs = problems.runs(RUNS_A_THREAD * threads)
        return at_once(*(partial(_solve_run, *shared, *_task(problems, run, seed)) for run in runs), threads=threads)
    runs = problems.runs(RUNS_A_THREAD * executor.n_workers)
    found = executor.map(solve_labels_of_shard, shared, [_task(problems, run, seed) for run in runs])
    for (first, last), (*_, dual) in zip(runs, found, strict=True):
        problems.dual[problems.ptr[first] : problems.ptr[last]] = dual
    return [result[:-1] for result in found]


def _joined(solved: list[tuple[Array, ...]]) -> list[Array]:
    """Each kind of array of all runs behind one another. Runs are emptied as they are copied: of a million labels they
    take gigabytes."""
    kinds, found = [list(parts) for parts in zip(*solved, strict=True)], []
    solved.clear()
    for parts in kinds:
        if len(parts) == 1:
            found.append(parts[0])
            continue
        whole, filled = np.empty(sum(map(len, parts)), dtype=parts[0].dtype), 0
        for i, part in enumerate(parts):
            whole[filled : filled + len(part)] = part
            filled, parts[i] = filled + len(part), part[:0].copy()
            del part
        found.append(whole)
    return found


def _task(problems: Problems, run: tuple[int, int], seed: int) -> tuple[Any, ...]:
    """The problems of a run of labels, by themselves; the dual variables are those of `problems`."""
    first, last = run
    a, b = int(problems.ptr[first]), int(problems.ptr[last])
    ptr, own = problems.ptr[first : last + 1] - a, slice(a, b)
    return ptr, problems.docs[own], problems.n_positive[first:last], problems.dual[own], seed + problems.first + first


def solve_labels_of_shard(*arguments: Any) -> tuple[Array, ...]:
    """`_solve_run` with dual variables of its own, which come behind the rest."""
    own = np.array(arguments[-2])
    given: Any = (*arguments[:-2], own, arguments[-1])
    return *_solve_run(*given), own


def _solve_run(
    x_ptr: Array,
    x_idx: Array,
    x_val: Array,
    square: Array,
    n_features: int,
    costs: Array,
    logistic: bool,
    tolerance: float,
    iterations: int,
    threshold: float,
    precision: str,
    ptr: Array,
    docs: Array,
    n_positive: Array,
    dual: Array,
    seed: int,
) -> tuple[Array, ...]:
    """(weights a label, features, weights as they are kept, scales, biases) of a run of labels; see `solve_labels`."""
    counts, features, weights, bias = solve_labels(
        0, len(n_positive), ptr, docs, n_positive, dual, x_ptr, x_idx, x_val, square, n_features,
        costs, logistic, tolerance, iterations, threshold, seed,
    )  # fmt: skip
    found = sp.csr_matrix((weights, features, np.append(0, np.cumsum(counts))), shape=(len(counts), n_features))
    found = found.tocsc().tocsr()  # columns rise now; sorting them takes twice the time
    return counts, found.indices, *rounded_weights(found.data, found.indptr, precision), bias


def rounded_weights(weights: Array, indptr: Array, precision: str) -> tuple[Array, Array]:
    """Weights in their saved form, and each label's scale (1 but for int8)."""
    counts = np.diff(indptr)
    scale = np.ones(len(counts), dtype=np.float32)
    if precision != "int8":
        return weights.astype(precision), scale
    filled = counts > 0
    if filled.any():
        scale[filled] = np.maximum.reduceat(np.abs(weights), indptr[:-1][filled]) / 127
    return np.rint(weights / np.repeat(scale, counts)).astype(np.int8), scale


def for_kernels(X: sp.csr_matrix) -> tuple[Array, Array, Array]:
    """One set of types, so that each kernel is compiled once. Columns are sorted and distinct, as the kernels need
    them. They are unsigned, as the check for a negative index would cost a third of the time."""
    X = canonical(X)
    return (
        X.indptr.astype(np.int64, copy=False),
        X.indices.astype(np.int32, copy=False).view(np.uint32),
        X.data.astype(np.float32, copy=False),
    )
