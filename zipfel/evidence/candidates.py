"""The labels of a document that are scored: the labels with most votes and those that parts propose. If these are few,
the most frequent labels are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from zipfel.evidence.part import Array, Asked, Part, Voters
from zipfel.neighbors.votes import cast_votes, fill_up

USUAL = 10
"""Most frequent labels that fill up a document's candidates, if there is room."""


@dataclass(frozen=True)
class Candidates:
    """labels: (n, c), -1 pads; votes: (n, c, s) for each, in s kinds; voters: who cast them; kinds: names of the s."""

    labels: npt.NDArray[np.int64]
    votes: npt.NDArray[np.float32]
    voters: Voters
    kinds: tuple[str, ...]


def candidates_of(asked: Asked, parts: Sequence[Part], width: int) -> Candidates:
    """`width` labels by votes, and behind them those that parts propose."""
    training = asked.training
    casting = [(part, part.neighbours(asked)) for part in parts if part.votes]
    voters = joined_voters([voters for _, voters in casting if voters is not None])
    labels, votes = cast_votes(voters.ids, voters.weights, training.Y, width)
    proposals = [found.labels for part in parts if (found := part.proposals(asked)) is not None]
    if proposals:
        labels, votes = _with_proposals(labels, votes, np.hstack(proposals))
    fill_up(labels, asked.once("most frequent", lambda: training.most_frequent(USUAL)))
    kinds = tuple(kind for part, found in casting if found is not None for kind in part.votes)
    return Candidates(labels, votes, voters, kinds)


def joined_voters(parts: Sequence[Voters]) -> Voters:
    """All of them, each with its own kinds of votes: (n, m) rows, (n, m, s) weights."""
    if len(parts) == 1:
        return parts[0]
    widths = [voters.ids.shape[1] for voters in parts]
    kinds = [voters.weights.shape[2] for voters in parts]
    weights = np.zeros((len(parts[0].ids), sum(widths), sum(kinds)), dtype=np.float32)
    m = s = 0
    for voters, width, n_kinds in zip(parts, widths, kinds, strict=True):
        weights[:, m : m + width, s : s + n_kinds] = voters.weights
        m, s = m + width, s + n_kinds
    return Voters(np.hstack([voters.ids for voters in parts]), weights)


def _with_proposals(labels: Array, votes: Array, proposed: Array) -> tuple[Array, Array]:
    """Proposals (n, p) that a row does not have yet come into its free places, and behind them into p new ones."""
    n, width = labels.shape
    wide = np.full((n, width + proposed.shape[1]), -1, dtype=np.int64)
    wide[:, :width] = labels
    _append_new(wide, np.ascontiguousarray(proposed, dtype=np.int64))
    more = np.zeros((n, proposed.shape[1], votes.shape[2]), dtype=np.float32)
    return wide, np.concatenate([votes, more], axis=1)


@njit(cache=True, nogil=True)
def _append_new(labels: Any, proposed: Any) -> None:
    """Each row of proposed (n, p) behind the labels (n, c) of the row, without those that it has; -1 pads in both."""
    for i in range(len(labels)):
        used = 0
        while used < labels.shape[1] and labels[i, used] >= 0:
            used += 1
        for t in range(proposed.shape[1]):
            label = proposed[i, t]
            is_there = label < 0
            for c in range(used):
                is_there |= labels[i, c] == label
            if not is_there and used < labels.shape[1]:
                labels[i, used] = label
                used += 1
