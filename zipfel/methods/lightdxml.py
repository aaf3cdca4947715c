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
- `networks` of them, which differ in their draws only, are averaged (sized: where that is cheap).
- Dropout on tokens and in the residual block; a classifier's last weight is its bias, at first the log-odds.
- A third of the points gets a new shortlist in each cycle, by a coarse search.
- Up to 200,000 points, step 6 also hears the votes of the nearest training points and sparse classifiers, joined by
  learnt weights in place of beta (`by_words`, `opinions`). `votes=false sparse=false` is the paper's
  fusion.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from zipfel.data.splitting import held_out_runs
from zipfel.errors import ModelFileError
from zipfel.methods.base import Method, Points, State, under
from zipfel.methods.by_words import learn_words
from zipfel.methods.lightdxml_config import PRESETS, LightDXMLConfig, sized
from zipfel.methods.lightdxml_judge import Networks
from zipfel.methods.lightdxml_network import Network
from zipfel.methods.opinions import Bonus, Opinions
from zipfel.metrics import evaluate
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.threads import at_once
from zipfel.training.shortlist import Ids, Scored, fused, ranked

_BLOCK = 512
_SHARE = 0.8
"""Of a time budget, for the networks; the rest is for joining what they and the words say."""
_FEW = 20
"""Points below which none is held out."""
BETAS = (1.0, 0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)


BONUS = Bonus(tails=(0.0, 0.1, 0.2), cost=0.001)


class LightDXML(Method):
    name = "lightdxml"
    title = "label embeddings shortlist, one-vs-all classifiers decide, trained in cycles (LightDXML)"
    paper = "Mishra et al.: Light-weight Deep Extreme Multilabel Classification. IJCNN 2023"
    Config = LightDXMLConfig
    config: LightDXMLConfig
    presets = PRESETS
    networks_: list[Network]
    opinions_: Opinions | None = None
    beta_: float = 1.0

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        self.settings_ = settings = sized(self.config, train)
        if valid is None:
            train, valid = _split(train, settings.valid_share, run)
        if not (settings.votes or settings.sparse):
            self.networks_ = self._fit_networks(train, valid, run)
            with run.timed("beta"):
                self.beta_ = self._choose_beta(valid) if settings.beta is None else settings.beta
            return
        held, everything = valid, train.joined(valid)
        parts: list[Any] = at_once(
            lambda: self._fit_networks(train, held, run.part(_SHARE)),
            lambda: learn_words(settings, everything, train.n_points, run),
        )
        self.networks_, learnt = parts
        with run.timed("opinions"):
            judge = Networks(settings, self.networks_)
            judge.remember(train)
            self.opinions_ = Opinions.learn(settings, judge, train, held, learnt, BONUS)
            judge.remember(everything)

    def _fit_networks(self, train: Points, valid: Points, run: Run) -> list[Network]:
        found, n_networks = [], int(self.settings_.networks or 1)
        for i in range(n_networks):
            seed = run.seed if i == 0 else int(run.rng(5, i).integers(2**31))
            mine = replace(run.part(1 / (n_networks - i)), seed=seed)
            found.append(Network(self.settings_).fit(train, valid, mine, f"{self.name}-{i}"))
        return found

    def _choose_beta(self, valid: Points) -> float:
        """The beta with the best P@1 + P@3 + P@5 on validation; ties go to the classifiers."""
        places, scored = self._scores(valid.X)

        def value(beta: float) -> float:
            found = evaluate(self._ranked(places, scored, beta, 5), valid.Y)
            return found["P@1"] + found["P@3"] + found["P@5"]

        return max(BETAS, key=lambda beta: (value(beta), beta))

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        """Step 6, in blocks of rows."""
        if self.opinions_ is not None:
            return self.opinions_.rank(X, k)
        blocks = [X[i : i + _BLOCK] for i in range(0, max(1, X.shape[0]), _BLOCK)]
        return Ranking.concatenate([self._ranked(*self._scores(block), self.beta_, k) for block in blocks])

    def _scores(self, X: sp.csr_matrix) -> tuple[Ids | None, list[Scored]]:
        """The first network shortlists, all of them score."""
        places = self.networks_[0].shortlist(X)
        return places, [network.score(X, places) for network in self.networks_]

    def _ranked(self, places: Ids | None, scored: list[Scored], beta: float, k: int) -> Ranking:
        scores = [fused(each, beta) for each in scored]
        mean = sum(scores[1:], start=scores[0]) / np.float32(len(scores))
        return ranked(self.networks_[0].scorer.labels, places, mean, k)

    def state(self) -> State:
        states = [network.state() for network in self.networks_]
        arrays = {f"{i}.{name}": array for i, s in enumerate(states) for name, array in s.arrays.items()}
        facts = {"settings": self.settings_.to_dict(), "beta": self.beta_, "networks": [dict(s.facts) for s in states]}
        if self.opinions_ is not None:
            further, judge = self.opinions_.state(), self.opinions_.judge
            arrays |= further.arrays
            if isinstance(judge, Networks) and judge.voters is not None:
                arrays |= under("voters", judge.voters.state())
            facts["opinions"] = dict(further.facts)
        return State(arrays, facts)

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        self.settings_ = type(self.config).from_dict(state.facts["settings"])
        self.networks_, self.beta_ = [], state.fact("beta", low=0, high=1)
        for i, facts in enumerate(state.facts["networks"]):
            prefix = f"{i}."
            mine = {key.removeprefix(prefix): a for key, a in state.arrays.items() if key.startswith(prefix)}
            self.networks_.append(Network(self.settings_).restore(State(mine, facts), n_features, n_labels))
        labels = [network.scorer.labels for network in self.networks_]
        if not labels or any(not np.array_equal(labels[0], other) for other in labels[1:]):
            raise ModelFileError("the networks of the model do not know the same labels")
        if "opinions" in state.facts:
            further, judge = State(state.arrays, state.facts["opinions"]), Networks(self.settings_, self.networks_)
            judge.restore(state.part("voters"), n_labels)
            self.opinions_ = Opinions.restored(self.settings_, judge, further, n_features, n_labels)


def _split(train: Points, share: float, run: Run) -> tuple[Points, Points]:
    """(rest, held out): at most 2,000 rows, in runs of consecutive ones; where they are few, all of them twice."""
    if train.n_points < _FEW:
        return train, train
    held = held_out_runs(train.n_points, max(1, min(2000, round(share * train.n_points))), run.rng(4))
    return train.take(np.setdiff1d(np.arange(train.n_points), held)), train.take(held)
