"""Sparse one-vs-all ranking of shortlists.

problems = Problems.build(Y, shortlist)                   # positives and shortlisted negatives of each label
ranker = SparseRanker(RankerConfig()).fit(X, problems)
margins = ranker.score(X, labels)                         # (n, k) for labels (n, k), no other label touched
"""

from zipfel.ranker.problems import Problems, with_strangers
from zipfel.ranker.sparse import RankerConfig, SparseRanker, damped

__all__ = ["Problems", "RankerConfig", "SparseRanker", "damped", "with_strangers"]
