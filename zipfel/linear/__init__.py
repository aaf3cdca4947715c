"""Sparse one-vs-all classifiers, and their scores of shortlists.

problems = Problems.build(Y, shortlist)                   # positives and shortlisted negatives of each label
model = LinearClassifiers(LinearConfig()).fit(X, problems)
margins = model.score(X, labels)                         # (n, k) for labels (n, k), no other label touched
"""

from zipfel.linear.classifiers import LinearClassifiers, LinearConfig, damped
from zipfel.linear.continuing import continued
from zipfel.linear.extending import extended
from zipfel.linear.problems import Problems, with_random_negatives

__all__ = ["LinearClassifiers", "LinearConfig", "Problems", "continued", "damped", "extended", "with_random_negatives"]
