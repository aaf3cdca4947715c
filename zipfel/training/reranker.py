"""Astec's re-ranker: a second network, trained on the labels that a first one wrongly ranks first."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from torch import Tensor

from zipfel.kernels.topk import topk
from zipfel.nn.bag import bag
from zipfel.nn.classifier_network import ClassifierNetwork, Ids, taken
from zipfel.nn.table import Table
from zipfel.run import Run
from zipfel.training.batches import Batch, Batches
from zipfel.training.shortlist import sigmoid
from zipfel.training.trainer import Plan, Trainer

Array = npt.NDArray[np.float32]
PairLoss = Callable[[Tensor, Batch, Mapping[str, Tensor]], Tensor]
"""Of representations (B, d), with the batch's pairs and the rows of its tables."""


@dataclass(frozen=True)
class Reranker:
    """A network that scores the `width` labels that are ranked first without it."""

    network: ClassifierNetwork
    width: int

    @classmethod
    def trained(
        cls, first: ClassifierNetwork, width: int, batches: Batches, loss: PairLoss, plan: Plan, run: Run,
        validate: Callable[[ClassifierNetwork], float], precision: str = "float32",
    ) -> Reranker:  # fmt: skip
        """It starts as a copy of the first network. batches: each point with its positives and with the labels that the
        first network ranks first. validate: the value to raise, asked after each epoch."""
        network = copy.deepcopy(first)
        network.encoder.requires_grad_(True)
        tables = {"features": Table(network.tokens), "labels": Table(network.classifiers)}

        def objective(batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
            return loss(network.encoder(bag(rows["features"], batch.X)), batch, rows)

        Trainer(
            run, batches, objective, plan, tables=tables, module=network.encoder, name="re-ranker",
            validate=lambda: validate(network),
        ).fit()  # fmt: skip
        tokens, classifiers = (tables[name].numpy() for name in ("features", "labels"))
        return cls(ClassifierNetwork(tokens, network.encoder, classifiers).rounded(precision), width)

    def joined(self, X: sp.csr_matrix, places: Ids | None, scores: Array, gamma: float) -> Array:
        """(n, c): (1 - gamma) score + gamma s(u_j . z), the second for the `width` best of each row only.

        scores (n, c): of the labels at places (n, c), or of all; -inf where there is no candidate.
        """
        columns = topk(scores, min(self.width, scores.shape[1]))[0]
        logits = self.network.logits(self.network.first(X), taken(places, columns))
        added = np.zeros((len(scores), scores.shape[1] + 1), dtype=np.float32)  # pads write to the last column
        np.put_along_axis(added, columns, sigmoid(logits), axis=1)
        both = np.float32(1 - gamma) * np.maximum(scores, 0) + np.float32(gamma) * added[:, :-1]
        return np.where(np.isneginf(scores), scores, both)
