"""Documents learned while the model serves: through `partial_fit` on a copy, which is then swapped in."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from zipfel.serve.served import ServedModel, Snapshot


def learned(served: ServedModel, texts: Sequence[str], tags: Sequence[Sequence[str]]) -> Snapshot:
    """The model with these documents added; the one that serves is left alone."""
    model = copy.deepcopy(served.snapshot.model)
    model.partial_fit(list(texts), [list(labels) for labels in tags])
    return served.warm(Snapshot.of(model, served.snapshot.version + 1))
