"""Sparse one-vs-all classifiers, and their scores of shortlists.

problems = Problems.build(Y, shortlist)                   # positives and shortlisted negatives of each label
model = LinearClassifiers(LinearConfig()).fit(X, problems)
margins = model.score(X, labels)                         # (n, k) for labels (n, k), no other label touched
"""

from zipfel.linear.classifiers import LinearClassifiers, LinearConfig, damped
from zipfel.linear.continuing import continued
from zipfel.linear.extending import extended
from zipfel.linear.problems import Problems, with_random_negatives
from zipfel.linear.resuming import resumed, with_new_documents

__all__ = [
    "LinearClassifiers",
    "LinearConfig",
    "Problems",
    "continued",
    "damped",
    "extended",
    "resumed",
    "with_new_documents",
    "with_random_negatives",
]
