"""Sparse one-vs-all ranking of shortlists.

problems = Problems.build(Y, shortlist)                   # positives and shortlisted negatives of each label
ranker = LinearClassifiers(LinearConfig()).fit(X, problems)
margins = ranker.score(X, labels)                         # (n, k) for labels (n, k), no other label touched
"""

from zipfel.linear.classifiers import LinearClassifiers, LinearConfig, damped
from zipfel.linear.extending import extended
from zipfel.linear.problems import Problems, with_random_negatives

__all__ = ["LinearClassifiers", "LinearConfig", "Problems", "damped", "extended", "with_random_negatives"]
