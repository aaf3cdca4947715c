"""Rank-AE's dual attention over the words of a document (Wang et al. 2019, section 2.4 and Eq. 5)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zipfel.nn.seeded import linear


class DualAttention(nn.Module):
    """Weighs words (spatial) and the channels of each word (squeeze and excite), then pools a document's words.

    spatial: V' = (v_1 e_1, ..., v_n e_n), by the weights that come with the document; nothing to learn
    channel: A = sigmoid(F2 relu(F1 V'))                                                      Eq. 5
    pooled:  x' = sum_j (V' o A)_j over the document's own words

    The paper averages; rows come scaled to unit length here, and dividing once more by the number of words would
    scale them twice, so the sum is the default.
    """

    def __init__(
        self,
        dim: int,
        reduction: int = 4,
        *,
        channel: bool = True,
        mean: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.mean, self.channel = mean, channel
        squeezed, draw = max(1, dim // reduction), generator or torch.Generator()
        self.squeeze = linear(dim, squeezed, draw) if channel else None
        self.excite = linear(squeezed, dim, draw) if channel else None

    def channels(self, weighted: Tensor) -> Tensor:
        """A (t, dim) in (0, 1) for the weighted word vectors V' (t, dim); all ones without channel attention."""
        if self.squeeze is None or self.excite is None:
            return torch.ones_like(weighted)
        return torch.sigmoid(self.excite(torch.relu(self.squeeze(weighted))))

    def attended(self, words: Tensor, weights: Tensor) -> Tensor:
        """M (t, dim) = V' o A: what each word adds to its document's sum."""
        weighted = words * weights[:, None]  # V' (t, dim)
        return weighted * self.channels(weighted)

    def forward(self, words: Tensor, weights: Tensor, rows: Tensor, n_rows: int) -> Tensor:
        """(n_rows, dim) of words (t, dim), their weights (t,) and the document (t,) that each belongs to."""
        attended = self.attended(words, weights)
        pooled = attended.new_zeros(n_rows, words.shape[1]).index_add(0, rows, attended)
        if not self.mean:
            return pooled
        sizes = torch.bincount(rows, minlength=n_rows).clamp(min=1)
        return pooled / sizes[:, None]
