"""Head, torso and tail: the one place that says which labels are frequent and which are rare."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

HEAD, TORSO, TAIL = 0, 1, 2
BUCKETS = ("head", "torso", "tail")  # by bucket id

HEAD_ABOVE = 100
TAIL_UP_TO = 5


def buckets(
    counts: npt.NDArray[np.integer], *, head_above: int = HEAD_ABOVE, tail_up_to: int = TAIL_UP_TO
) -> npt.NDArray[np.int8]:
    """The bucket of each label by its number of training documents: a place in `BUCKETS`.

    counts: (n_labels,) training documents. Head: more than `head_above`. Tail: at most `tail_up_to`, which includes
    labels without training documents. Torso: all between.

    >>> [BUCKETS[i] for i in buckets(np.array([500, 20, 0]))]
    ['head', 'torso', 'tail']
    """
    counts = np.asarray(counts)  # (n_labels,)
    found = np.full(counts.shape, TORSO, dtype=np.int8)
    found[counts > head_above] = HEAD
    found[counts <= tail_up_to] = TAIL
    return found
