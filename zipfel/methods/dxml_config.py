"""DXML's parameters."""

from __future__ import annotations

from dataclasses import dataclass

from zipfel import config as declared
from zipfel.config import param

ACTIVATIONS = ("relu", "linear")


@dataclass(frozen=True)
class DxmlConfig(declared.Config):
    """Defaults named "paper" are of section 4.1; the others are from docs/methods/dxml.md's tables."""

    dim: int = param(100, "numbers in a graph vector; the paper has 100, or 300 for large data", symbol="l", low=1)
    own_dim: int = param(300, "numbers in a label's own random direction; the paper has none", low=0)
    hidden: int = param(256, "width of the hidden layer; the paper has 256, or 512 for large data", symbol="W1", low=1)
    networks: int | None = param(None, "networks; the paper has one; none: 5, or 80,000 points in all", low=1, high=16)
    activation: str = param("auto", "the paper's is relu; auto: by held-out points", choices=("auto", *ACTIVATIONS))
    loss: str = param("infonce", "the paper's is smooth_l1", choices=("infonce", "smooth_l1"))
    temperature: float = param(0.1, "of InfoNCE", low=1e-3)
    targets: str = param("centred", "centred: less their mean, of unit length", choices=("centred", "unit", "plain"))
    vectors: str = param("deepwalk", "where label vectors come from", choices=("deepwalk", "ppmi", "random"))
    edges: str = param("counts", "counts: points in common; the paper's are plain", choices=("counts", "plain"))
    hierarchy: str = param("", "file of `parent child` label ids: the graph, instead of labels that occur together")
    walks: int | None = param(None, "walks from each label; none: 10, or what makes 4 million steps", low=1)
    walk_length: int = param(40, "steps of a walk", low=2)
    window: int = param(2, "steps within which labels are in each other's context", low=1)
    passes: int = param(1, "passes of skip-gram over the walks", low=1)
    keep: float = param(0.6, "share of a row's features that input dropout keeps", low=0.01, high=1)
    dropout: float = param(0.0, "dropout after the last layer, as in the paper", low=0, high=0.95)
    epochs: int | None = param(None, "passes over train; none: what makes 800 steps, from 8 to 30", low=1)
    batch: int = param(256, "rows a step", low=1)
    lr: float = param(3e-3, "Adam's rate at the start, falling linearly to 0", low=1e-6)
    clusters: int | None = param(None, "clusters of the embedded points; none: one for 2,000", symbol="m", low=1)
    probes: int | None = param(None, "clusters to search; the paper has 1; none: by held-out points", low=1)
    n_neighbors: int | None = param(None, "voters; none: by held-out points", symbol="k", low=1)
    sharpness: float | None = param(None, "t of the votes exp(t (cos - best)); none: by held-out points", low=0)
    refit: bool = param(True, "train again on all points after the choices; else the choices' network stays")
    valid_share: float | None = param(
        None, "share of train to hold out; none: 1,000 points, 10 to 25 %", low=0.01, high=0.5
    )
