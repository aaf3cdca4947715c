"""LightDXML's networks as a judge among others (`opinions`): logits, cosines, and votes of the nearest points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.base import unit_rows
from zipfel.methods.base import Points
from zipfel.methods.lightdxml_config import LightDXMLConfig
from zipfel.methods.lightdxml_network import Network
from zipfel.methods.opinions import Voted
from zipfel.neighbors.voters import KINDS, Voters
from zipfel.training.shortlist import Ids

Codes = npt.NDArray[np.float32]
Hidden = Sequence[Codes]
"""(n, d) of each network."""


class Networks:
    """w_j . x and cos(x, z_j), the means of the networks'; and the points that are nearest in all their spaces."""

    names = ("logit", "cosine")
    voters: Voters | None = None

    def __init__(self, settings: LightDXMLConfig, networks: Sequence[Network]) -> None:
        self.settings, self.networks = settings, networks
        self.labels = networks[0].scorer.labels

    @property
    def vote_names(self) -> Sequence[str]:
        return KINDS if self.settings.votes else ()

    def remember(self, points: Points) -> None:
        """Points that will vote."""
        s = self.settings
        if s.votes:
            codes = self._joined(self.encode(points.X))
            self.voters = Voters(codes, points.Y, neighbors=s.neighbors, precision=s.precision)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]], n_labels: int) -> None:
        """Those points, from a model file."""
        s, dim = self.settings, sum(network.dim for network in self.networks)
        if s.votes:
            self.voters = Voters.restored(arrays, n_labels, dim, neighbors=s.neighbors, precision=s.precision)

    def encode(self, X: sp.csr_matrix) -> Hidden:
        return [network.encode(X) for network in self.networks]

    def best(self, codes: Hidden, width: int) -> Ids:
        return self.networks[0].best(codes[0], width).labels

    def votes(self, codes: Hidden, width: int) -> Voted | None:
        return None if self.voters is None else self.voters.vote(self._joined(codes), width)

    def knows(self, labels: Ids) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = self.labels[self._places(labels)] == labels
        return found

    def opinions(self, codes: Hidden, labels: Ids) -> Sequence[npt.NDArray[Any]]:
        places = np.where(self.knows(labels), self._places(labels), -1)
        scored = [network.scorer.score(x, places) for network, x in zip(self.networks, codes, strict=True)]
        return [np.mean([getattr(s, name) for s in scored], axis=0) for name in ("logits", "cosines")]

    def _places(self, labels: Ids) -> Ids:
        return np.minimum(np.searchsorted(self.labels, labels), len(self.labels) - 1)

    def _joined(self, codes: Hidden) -> Codes:
        """(n, networks * d): the networks' points side by side, each seen from its mean and of unit length."""
        means = [network.scorer.mean for network in self.networks]
        return np.hstack([unit_rows(x - mean) for x, mean in zip(codes, means, strict=True)])
