"""The label graph, random walks over it, and vectors for labels."""

from zipfel.graph.embedding import deepwalk, ppmi_svd, random_vectors, with_own_directions
from zipfel.graph.label_graph import LabelGraph, SharedPoints, graph_of
from zipfel.graph.targets import Targets

__all__ = [
    "LabelGraph",
    "SharedPoints",
    "Targets",
    "deepwalk",
    "graph_of",
    "ppmi_svd",
    "random_vectors",
    "with_own_directions",
]
