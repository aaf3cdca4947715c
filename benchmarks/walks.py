"""The label graph of debian-deps: built, walked, embedded; and skip-gram against gensim's, where that is installed."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks import Bar
from zipfel.data import read, synth
from zipfel.graph import LabelGraph, deepwalk


def main() -> list[Bar]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("..") / "shared" / "data" / "debian-deps" / "train.txt.gz")
    asked = parser.parse_args()
    Y = read(asked.data).Y if asked.data.exists() else synth(30_000, 1000, 20_000).Y
    deepwalk(LabelGraph.from_labels(Y[:100]), 8, walks=1, length=2)  # compiles
    start = time.monotonic()
    graph = LabelGraph.from_labels(Y, weighted=True)
    built = time.monotonic() - start
    speed = {
        kind: _steps_a_second(LabelGraph.from_labels(Y, weighted=kind == "weighted")) for kind in ("plain", "weighted")
    }
    vectors = deepwalk(graph, 100)
    whole = time.monotonic() - start
    print(f"{graph.n_nodes:,} labels, {graph.n_edges:,} edges, {int(graph.isolated.sum())} labels alone: {built:.2f} s")
    print(f"walks: plain {speed['plain'] / 1e6:.1f}, weighted {speed['weighted'] / 1e6:.1f} million steps a second")
    print(f"built, walked (three times) and embedded {vectors.shape} in {whole:.1f} s")
    _against_gensim(graph)
    return [
        Bar("random walks", speed["plain"] / 1e6, 5, unit="million steps/s"),
        Bar("label graph to vectors", whole, 60, at_least=False, unit="s"),
    ]


def _steps_a_second(graph: LabelGraph) -> float:
    """The best of three."""
    best = 0.0
    for seed in range(3):
        start = time.monotonic()
        walks = graph.walks(10, 40, seed)
        best = max(best, walks.size / (time.monotonic() - start))
    return best


def _against_gensim(graph: LabelGraph) -> None:
    """Seconds, and how many of the ten nearest labels are among a label's ten heaviest neighbours."""
    try:
        from gensim.models import Word2Vec
    except ImportError:
        print("gensim is not installed: nothing to compare skip-gram with")
        return
    walks = graph.walks(2, 40, 0)
    start = time.monotonic()
    own = deepwalk(graph, 100, walks=2)
    seconds = time.monotonic() - start
    corpus = [[str(node) for node in walk] for walk in walks]
    start = time.monotonic()
    model = Word2Vec(
        corpus, vector_size=100, window=2, sg=1, negative=5, min_count=0, workers=1, epochs=1, sample=0, seed=1
    )
    theirs = time.monotonic() - start
    found = np.stack([model.wv[str(node)] for node in range(graph.n_labels)])
    print("skip-gram, two walks a label, one thread: seconds, share of the ten nearest that are heaviest neighbours")
    print(f"own {seconds:.1f} s, {_agreement(own, graph.adjacency):.3f}")
    print(f"gensim {theirs:.1f} s, {_agreement(found, graph.adjacency):.3f}")


def _agreement(vectors: npt.NDArray[np.float32], adjacency: sp.csr_matrix, sample: int = 500) -> float:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    degrees = np.diff(adjacency.indptr)
    labels = np.random.default_rng(0).permutation(np.flatnonzero(degrees >= 10))[:sample]
    shares = []
    for label in labels.tolist():
        cosine = unit @ unit[label]
        cosine[label] = -2
        row = adjacency[label]
        heaviest = row.indices[np.argsort(-row.data, kind="stable")[:10]]
        shares.append(np.isin(np.argpartition(-cosine, 10)[:10], heaviest).mean())
    return float(np.mean(shares))


if __name__ == "__main__":
    main()
