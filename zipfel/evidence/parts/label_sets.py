"""Documents and label sets in one cosine space: MNN's two encoders by InfoNCE, without torch.

The equations are in `neighbors/label_set_training.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from zipfel.evidence.part import Fold
from zipfel.evidence.parts.space import SpacePart
from zipfel.neighbors.label_set_training import LabelSetsConfig, LabelSetTraining
from zipfel.neighbors.label_sets import Encoder
from zipfel.neighbors.space import Space


@dataclass(frozen=True)
class LabelSetsPart(SpacePart):
    name = "label_sets"
    title = "documents and label sets in one cosine space, and neighbours there"
    Config = LabelSetsConfig
    Encoder = Encoder
    votes = Encoder.VOTES

    @classmethod
    def fit(cls, config: LabelSetsConfig, fold: Fold, before: LabelSetsPart | None) -> LabelSetsPart | None:
        """The final fit keeps the encoder. It encodes the points that were held out, which become neighbours."""
        if before is None:
            points = fold.learnt_from
            training = LabelSetTraining(config, points.n_features, points.n_labels, fold.run)
            training.fit(points.X, points.Y, fold.run)
            if not training.has_learnt:
                return None
        encoder = training.encoder() if before is None else before.space.encoder
        codes = encoder.encode(fold.points.X)
        return cls(Space.build(encoder, codes, fold.points.Y, fold.voters, exact=not fold.is_final))
