"""Propensities: how likely a true label is written down at all, after Jain et al. 2016.

    C = (ln N - 1) (B + 1)^A        1 / p_l = 1 + C (N_l + B)^-A

N: training points. N_l: training points with label l. A rare label is likely to be missing where it is true, so hitting
it where it was written down counts more.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Propensity:
    """The two constants of the model; the defaults hold where a data set does not say otherwise."""

    A: float = 0.55
    B: float = 1.5

    @classmethod
    def of(cls, dataset: str) -> Propensity:
        """The constants of a data set of the Extreme Classification Repository, by its name in any spelling."""
        name = re.sub(r"[^a-z0-9]", "", dataset.lower())
        return next((found for start, found in _PRESETS.items() if name.startswith(start)), cls())

    def inverse(self, counts: npt.NDArray[np.integer], n_train: int) -> npt.NDArray[np.float64]:
        """1 / p_l from the training points of each label (0 for a label that was never seen); 1 at least."""
        C = max(0.0, math.log(max(n_train, 1)) - 1) * (self.B + 1) ** self.A  # ln N < 1 would turn the weights round
        smoothed = np.asarray(counts, dtype=np.float64) + self.B
        return np.asarray(1 + C * smoothed**-self.A)

    def table(self, most: int, n_train: int) -> npt.NDArray[np.float64]:
        """1 / p of a label by its training points, from 0 to the most there are."""
        return self.inverse(np.arange(int(most) + 1), n_train)


_PRESETS = {
    "wikilshtc": Propensity(0.5, 0.4),
    "wikipedia500k": Propensity(0.5, 0.4),
    "amazon670k": Propensity(0.6, 2.6),
    "amazon3m": Propensity(0.6, 2.6),
}
