"""DXML's parts against each other: python -m benchmarks.dxml_ablation [--data delicious debian-deps] [--points 3000]

Figure 2's question (ReLU or linear), where label vectors come from, and the paper's own loss. One network is trained,
on the points of the sample that are not held out for the choices. Variants with the same seed share their walks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.small import arguments, compare, show
from zipfel.methods import dxml

SHORT = "networks=1;refit=false"
VARIANTS = {
    "ReLU": f"dxml[activation=relu;{SHORT}]",
    "linear (Figure 2)": f"dxml[activation=linear;{SHORT}]",
    "ReLU, DeepWalk alone": f"dxml[activation=relu;own_dim=0;{SHORT}]",
    "ReLU, PPMI-SVD alone": f"dxml[activation=relu;vectors=ppmi;own_dim=0;{SHORT}]",
    "ReLU, random alone": f"dxml[activation=relu;vectors=random;own_dim=0;{SHORT}]",
    "the paper's loss and targets: ReLU, DeepWalk alone": "dxml:paper[activation=relu;edges=counts;refit=false]",
    "the paper's loss and targets, linear": "dxml:paper[activation=linear;edges=counts;refit=false]",
}


def remembered(embed: Callable[..., Any]) -> Callable[..., Any]:
    """The same vectors for the same graph: walking is most of the time of a small run."""
    known: dict[Any, Any] = {}

    def ask(graph: Any, dim: int, **settings: Any) -> Any:
        key = (graph.n_edges, float(graph.adjacency.data.sum()), dim, *sorted(settings.items()))
        if key not in known:
            known[key] = embed(graph, dim, **settings)
        return known[key]

    return ask


def main() -> None:
    dxml.deepwalk = remembered(dxml.deepwalk)  # type: ignore[attr-defined]
    asked = arguments(__doc__ or "", ["delicious", "debian-deps"], points=3000)
    show(compare(asked, VARIANTS, "dxml_ablation.jsonl"))


if __name__ == "__main__":
    main()
