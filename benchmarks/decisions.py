"""Probabilities, sets of labels and names of labels, measured on test.

    python -m benchmarks.decisions probabilities bibtex delicious [--shared ../shared/data] [--threads 2]
    python -m benchmarks.decisions vocabulary eurlex57k
    python -m benchmarks.decisions matching

`probabilities`: ECE@1, 3, 5 beside what perfect probabilities have by chance (mean of 20 simulations).
`vocabulary`: fits without and with the vocabulary. Prints metrics, metrics of `--threshold auto`, CPU seconds of both
fits, recall@20 of labels without a training document, and P@1 of the documents that have no such label.
`matching`: CPU milliseconds a document of 200 words for finding 200,000 made-up names in it.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.part_costs import find

SEED, SIMULATIONS, TOP = 1, 20, 20
SHOWN = ("P@1", "RP@5", "nDCG@5", "ECE@1", "ECE@3", "ECE@5", "micro-F1@t", "macro-F1@t", "F1@t")
N_NAMES, N_DOCUMENTS, N_WORDS, VOCABULARY = 200_000, 2000, 200, 60_000


def part_of(folder: Path, part: str) -> Any:
    """Of texts, if there are any, or of ready-made rows; dev if there is no test."""
    from zipfel.data import read

    for name in (part, "dev"):
        if (folder / f"{name}.jsonl.gz").exists():
            return read(folder / f"{name}.jsonl.gz")
    return find(folder, part)


def by_chance(scores: Any, k: int) -> float:
    """ECE@k that perfect probabilities would have."""
    from zipfel.metrics.calibration import reliability

    rng = np.random.default_rng(SEED)
    p = scores[:, :k][np.isfinite(scores[:, :k])]
    return float(np.mean([reliability(p, rng.random(len(p)) < p).error for _ in range(SIMULATIONS)]))


def fitted(train: Any, threads: int, vocabulary: Path | None = None) -> tuple[Any, float]:
    """The model, and CPU seconds."""
    from zipfel import Zipfel

    start = time.process_time()
    model = Zipfel(seed=SEED, threads=threads).fit(train, vocabulary=vocabulary)
    return model, time.process_time() - start


def probabilities(name: str, folder: Path, threads: int) -> dict[str, Any]:
    model, _ = fitted(part_of(folder, "train"), threads)
    found = model.measure(part_of(folder, "test"))
    chance = {f"chance@{k}": by_chance(found.ranking.scores, k) for k in (1, 3, 5)}
    return {"data": name, **{key: found.scores[key] for key in ("P@1", "ECE@1", "ECE@3", "ECE@5")}, **chance}


def vocabulary(name: str, folder: Path, threads: int) -> list[dict[str, Any]]:
    train, test = part_of(folder, "train"), part_of(folder, "test")
    file = next(folder / f"vocabulary.{kind}" for kind in ("jsonl", "tsv") if (folder / f"vocabulary.{kind}").exists())
    known, rows = set(train.label_names or ()), []
    for given in (None, file):
        model, seconds = fitted(train, threads, given)
        found = model.measure(test, threshold="auto")
        rows.append({"data": name, "vocabulary": given is not None, "fit CPU s": seconds})
        rows[-1] |= {key: found.scores[key] for key in SHOWN if key in found.scores}
        rows[-1] |= unseen(model.predict(test, TOP), test, known)
    return rows


def unseen(ranking: Any, test: Any, known: set[str]) -> dict[str, float]:
    """Recall@20 of labels without a training document, and P@1 of the documents without such labels."""
    n = hits = 0
    ordinary = []
    for i, predicted in enumerate(ranking.names):
        true = {test.label_names[j] for j in test.Y.indices[test.Y.indptr[i] : test.Y.indptr[i + 1]]}
        new = true - known
        n, hits = n + len(new), hits + len(new & set(predicted))
        if not new:
            ordinary.append(bool(predicted) and predicted[0] in true)
    return {"unseen:R@20": hits / n if n else float("nan"), "without unseen:P@1": float(np.mean(ordinary))}


def matching() -> dict[str, float]:
    from zipfel.labeltext import Name, NameMatcher

    rng = np.random.default_rng(SEED)
    letters = np.array(list("abdegiklmnoprstu"))
    words = np.array(
        ["".join(letters[rng.integers(len(letters), size=rng.integers(4, 10))]) for _ in range(VOCABULARY)]
    )
    shares = 1 / np.arange(1, VOCABULARY + 1)
    names = [Name(i, " ".join(words[rng.integers(VOCABULARY, size=1 + i % 3)]), True) for i in range(N_NAMES)]
    drawn = rng.choice(VOCABULARY, size=(N_DOCUMENTS, N_WORDS), p=shares / shares.sum())
    texts = [" ".join(words[row]) for row in drawn]
    matcher = NameMatcher.fit(names, texts, N_NAMES)
    matcher.match(texts[:10])
    start = time.process_time()
    found = matcher.match(texts)
    milliseconds = 1000 * (time.process_time() - start) / N_DOCUMENTS
    return {"names": N_NAMES, "words": N_WORDS, "ms": milliseconds, "found": len(found.labels) / N_DOCUMENTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("probabilities", "vocabulary", "matching"))
    parser.add_argument("data", nargs="*")
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    if args.what == "matching":
        print(json.dumps(matching()))
    for name in args.data:
        rows = {"probabilities": probabilities, "vocabulary": vocabulary}[args.what](
            name, args.shared / name, args.threads
        )
        for row in rows if isinstance(rows, list) else [rows]:
            print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}), flush=True)


if __name__ == "__main__":
    main()
