"""What ranks labels in Rank-AE: the decoder alone, as the paper has it, or together with training points that vote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.base import unit_rows
from zipfel.index.joined_votes import SHARES, JoinedVotes, Scores
from zipfel.nn.autoencoder import LabelAutoencoder, Trained
from zipfel.points import Points
from zipfel.ranking import Ranking
from zipfel.state import State, under

Floats = npt.NDArray[np.float32]
READOUTS = ("decoder", "neighbours", "both")


@dataclass(frozen=True)
class Readout:
    """A trained network and how its codes are read."""

    trained: Trained
    votes: JoinedVotes

    @classmethod
    def chosen(cls, trained: Trained, kind: str, rest: Points, held: Points, seed: int) -> Readout:
        """kind: one of READOUTS; how the points of `rest` vote, and the decoder's share, are chosen on `held`."""
        found = cls(trained, _voters(trained, rest, () if kind == "decoder" else ("points", "sets"), seed))
        if kind != "decoder":
            found.votes.choose(*found._codes(held.X), held.Y, shares=SHARES if kind == "both" else (0.0,))
        return found

    def on(self, trained: Trained, points: Points, seed: int) -> Readout:
        """The same choices for another network and other voters."""
        sources = () if self.votes.blend is None else self.votes.blend.rules
        made = _voters(trained, points, sources, seed)
        return Readout(trained, replace(made, blend=self.votes.blend, share=self.votes.share))

    def rank(self, X: sp.csr_matrix, k: int) -> Ranking:
        """D(F(x)) of each row, its k best labels; or those joined with votes."""
        return self.votes.rank(*self._codes(X), k)

    def _codes(self, X: sp.csr_matrix) -> tuple[Floats, Scores]:
        """x_h of unit length, and what gives D(x_h) of rows."""
        codes = self.trained.codes(X)
        return unit_rows(codes), lambda start, stop: self.trained.scores(codes[start:stop])

    def state(self) -> State:
        votes = self.votes.state()
        return State({**under("votes", votes.arrays), **under("network", self.trained.arrays())}, dict(votes.facts))

    @classmethod
    def restored(cls, network: LabelAutoencoder, state: State, shapes: Mapping[str, tuple[int, int]]) -> Readout:
        """The counterpart of `state`. network: an untrained one; shapes: of the tables that prediction needs."""
        trained = Trained.restored(network, State(state.part("network")), shapes)
        n_labels, dim = shapes["labels"][0], network.common.out_features
        return cls(trained, JoinedVotes.restored(State(state.part("votes"), state.facts), n_labels, dim))


def _voters(trained: Trained, points: Points, sources: Iterable[str], seed: int) -> JoinedVotes:
    """The points that have labels become neighbours, by their x_h ("points") and by their y_h ("sets")."""
    voters = points.take(np.flatnonzero(np.diff(points.Y.indptr)))
    encode = {"points": lambda: trained.codes(voters.X), "sets": lambda: trained.set_codes(voters.Y)}
    codes = {name: unit_rows(encode[name]()) for name in sources}
    return JoinedVotes.of(codes, voters.Y if codes else voters.Y[:0], seed=seed)
