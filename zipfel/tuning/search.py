"""The search: Optuna proposes settings, each is fitted on a part of train and measured on the rest."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from zipfel.classifier import Zipfel
from zipfel.data import Dataset, split
from zipfel.errors import DataWarning, MissingExtraError, ParameterError, nearest
from zipfel.metrics import calibration_errors, evaluate
from zipfel.ranking import Ranking
from zipfel.run import Progress, Run, Silent
from zipfel.system.log import LOGGER
from zipfel.system.threads import available_threads
from zipfel.tuning.presets import Settings
from zipfel.tuning.spaces import VECTORIZER, Choice, Range, Space

if TYPE_CHECKING:
    import optuna

DEFAULT = "default"
"""User attribute of the study: the metric with the settings that are given, before anything is searched."""
_PLANNED = "plan"
_KS = (1, 3, 5)
_FIRST_RANDOM = 10
"""Trials before the sampler learns from earlier ones."""


@dataclass(frozen=True)
class Tuned:
    """What was found. trials: (number, value, settings) in their order, of those that came to an end."""

    metric: str
    default: float
    settings: Settings
    value: float
    searched: Mapping[str, Any]
    trials: list[tuple[int, float, dict[str, Any]]] = field(default_factory=list)

    @property
    def is_better(self) -> bool:
        return self.value > self.default


@dataclass
class Search:
    """What stays the same over all trials.

    given: settings that are not searched. share: of train that is held out, where `valid` is None.
    """

    given: Settings
    space: Space
    metric: str = "nDCG@5"
    share: float = 0.2
    seed: int = 0
    threads: int = field(default_factory=available_threads)

    def __post_init__(self) -> None:
        """A wrong metric is told before anything is fitted."""
        one = sp.csr_matrix(np.ones((1, 1)))
        ranking = Ranking(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.float32))
        known = {*evaluate(ranking, one, train_counts=np.ones(1, dtype=np.int64), n_train=1, ks=_KS)}
        known |= {*calibration_errors(ranking, one, ks=_KS)}
        if self.metric.partition("[")[0] not in known:
            raise ParameterError(f"there is no metric {self.metric!r:.40}{nearest(self.metric, known)}")

    def plan(self, train: Dataset, valid: Dataset | None) -> str:
        """A word for all that makes results of two searches comparable."""
        of_data = [train.fingerprint(), "" if valid is None else valid.fingerprint()]
        told = json.dumps([vars(self.given), repr(self.space), self.metric, self.share, *of_data], default=dict)
        return hashlib.sha256(told.encode()).hexdigest()

    def value(self, chosen: Mapping[str, Any], train: Dataset, held: Dataset, seconds: float | None) -> float:
        """The metric on the held-out part, with these settings besides the given ones."""
        settings = together(self.given, chosen)
        model = Zipfel(
            settings.method, preset=settings.preset, vectorizer=dict(settings.vectorizer), **dict(settings.params)
        )
        model.fit(train, run=Run(seed=self.seed, threads=self.threads, time_budget=seconds))
        scores = model.evaluate(held, ks=_KS)
        if self.metric not in scores:
            raise ParameterError(f"there is no metric {self.metric!r}; there are: {', '.join(scores)}")
        return scores[self.metric]


def together(given: Settings, chosen: Mapping[str, Any]) -> Settings:
    """The given settings with those that a search has chosen."""
    words = {key.removeprefix(VECTORIZER): value for key, value in chosen.items() if key.startswith(VECTORIZER)}
    params = {key: value for key, value in chosen.items() if not key.startswith(VECTORIZER)}
    return Settings(given.method, given.preset, {**given.params, **params}, {**given.vectorizer, **words})


def tune(
    search: Search,
    train: Dataset,
    folder: Path,
    *,
    valid: Dataset | None = None,
    trials: int | None = None,
    time_budget: float | None = None,
    progress: Progress | None = None,
    on_better: Callable[[int, float, Mapping[str, Any]], None] = lambda *_: None,
) -> Tuned:
    """Searches until there are so many trials in all, or the seconds are over; goes on from what is in the folder.

    The first fit has the given settings only. A trial that the end of the time has cut short does not count.
    """
    if trials is None and time_budget is None:
        raise ParameterError("a search needs an end: trials or time_budget")
    study = _study(search, train, valid, folder)
    rest, held = (train, valid) if valid is not None else split(train, search.share, salt="tune")
    clock = _Clock(time_budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # each once is enough, and `fit` says them
        if DEFAULT not in study.user_attrs:
            study.set_user_attr(DEFAULT, search.value({}, rest, held, None))
        best = max([study.user_attrs[DEFAULT], *(t.value for t in _complete(study))])
        done = len(_complete(study))
        with (progress or Silent()).task(
            "trying settings", total=trials if time_budget is None else time_budget
        ) as task:
            task.advance(done if time_budget is None else clock.step(), best=best)
            while not clock.is_over() and (trials is None or done < trials):
                value = _try(study, search, rest, held, clock)
                if value is None:
                    break
                done += 1
                if value > best:
                    best = value
                    on_better(done, value, study.best_params)
                task.advance(1 if time_budget is None else clock.step(), best=best, trial=done)
    return _tuned(study, search)


class _Clock:
    def __init__(self, budget: float | None) -> None:
        self._start, self._budget, self._told = time.monotonic(), budget, 0.0

    def left(self) -> float | None:
        return None if self._budget is None else max(1.0, self._budget - (time.monotonic() - self._start))

    def is_over(self) -> bool:
        return self._budget is not None and time.monotonic() - self._start >= self._budget

    def step(self) -> float:
        """Seconds since it was asked last."""
        now = time.monotonic() - self._start
        self._told, before = now, self._told
        return now - before


def _try(study: optuna.Study, search: Search, rest: Dataset, held: Dataset, clock: _Clock) -> float | None:
    """The value of one more trial; None where its time was over before it came to its end."""
    import optuna

    trial = study.ask()
    chosen = {key: _suggested(trial, key, kind) for key, kind in search.space.items()}
    LOGGER.info("trial %d: %s", trial.number, chosen)
    try:
        value = search.value(chosen, rest, held, clock.left())
    except BaseException:
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
        raise
    if clock.is_over():
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return None
    study.tell(trial, value)
    LOGGER.info("trial %d: %s %.4f", trial.number, search.metric, value)
    return value


def _suggested(trial: optuna.Trial, key: str, kind: Range | Choice) -> Any:
    if isinstance(kind, Choice):
        return trial.suggest_categorical(key, list(kind.values))
    if kind.whole:
        return trial.suggest_int(key, int(kind.low), int(kind.high), log=kind.log)
    return trial.suggest_float(key, kind.low, kind.high, log=kind.log)


def _study(search: Search, train: Dataset, valid: Dataset | None, folder: Path) -> optuna.Study:
    """The study in the folder's SQLite file, or a new one."""
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("optuna", "tune", "zipfel tune") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    storage = f"sqlite:///{folder / 'study.db'}"
    study = optuna.create_study(storage=storage, study_name="zipfel", direction="maximize", load_if_exists=True)
    plan = search.plan(train, valid)
    if study.user_attrs.setdefault(_PLANNED, plan) != plan:
        raise ParameterError(
            f"{folder} holds a search on other data, or of other settings: choose another --out, or remove the folder"
        )
    study.set_user_attr(_PLANNED, plan)
    study.sampler = optuna.samplers.TPESampler(
        n_startup_trials=_FIRST_RANDOM,
        seed=search.seed + len(study.trials),
        multivariate=True,
    )
    return study


def _complete(study: optuna.Study) -> list[Any]:
    return [trial for trial in study.trials if trial.state.name == "COMPLETE"]


def _tuned(study: optuna.Study, search: Search) -> Tuned:
    trials = [(t.number, float(t.value), dict(t.params)) for t in _complete(study)]
    default = float(study.user_attrs[DEFAULT])
    best = max(trials, key=lambda trial: trial[1], default=None)
    if best is None or best[1] <= default:
        return Tuned(search.metric, default, search.given, default, {}, trials)
    return Tuned(search.metric, default, together(search.given, best[2]), best[1], best[2], trials)
