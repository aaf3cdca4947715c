"""What embeddings of documents add on records in two languages: F1@5 and nDCG@20 of each language, as Annif has them.

    python -m benchmarks.language_gap --train-embeddings train.npy --test-embeddings dev.npy [--threads 2] [--plain]
                                      [--data ../shared/data/tibkat] [--preset quick] [--points 5000]

The .npy files have a row a document, zeros where it has no embedding. --plain fits without embeddings as well, in the
same process, and prints both. --points takes the first documents that have an embedding, of training and test set.
Seconds are CPU seconds of the whole process.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

K_F1, K_GAIN = 5, 20


def figures(ranking: Any, truth: Any, rows: Any) -> dict[str, float]:
    """F1@5 and nDCG@20 of some rows, each with binary gains and the ideal of all true labels."""
    f1, gains = [], []
    discounts = 1 / np.log2(np.arange(K_GAIN) + 2)
    for i in rows:
        true = set(truth.indices[truth.indptr[i] : truth.indptr[i + 1]].tolist())
        hits = np.array([label in true for label in ranking.labels[i].tolist() if label >= 0])
        f1.append(2 * hits[:K_F1].sum() / (len(hits[:K_F1]) + len(true)))
        gains.append((hits * discounts[: len(hits)]).sum() / discounts[: len(true)].sum())
    return {"F1@5": round(float(np.mean(f1)), 4), "nDCG@20": round(float(np.mean(gains)), 4), "documents": len(f1)}


def languages(path: Path) -> Any:
    import gzip

    with gzip.open(path, "rt", encoding="utf-8") as file:
        return np.array([json.loads(line)["language"] for line in file])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/tibkat"))
    parser.add_argument("--train-embeddings", type=Path, required=True)
    parser.add_argument("--test-embeddings", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--preset", default=None)
    parser.add_argument("--points", type=int, help="learn from so many of the documents that have an embedding only")
    args = parser.parse_args()
    from zipfel import Zipfel
    from zipfel.data import read
    from zipfel.data.embeddings import read_embeddings

    train, test = (read(args.data / f"{part}.jsonl.gz") for part in ("train", "dev"))
    own, asked = read_embeddings(args.train_embeddings), read_embeddings(args.test_embeddings)
    spoken = languages(args.data / "dev.jsonl.gz")
    if args.points is not None:
        some = np.flatnonzero(np.any(own, axis=1))[: args.points]
        train, own = train.take(some), own[some]
        asked_rows = np.flatnonzero(np.any(asked, axis=1))[: args.points]
        test, asked, spoken = test.take(asked_rows), asked[asked_rows], spoken[asked_rows]
    for kind in ("plain", "embeddings") if args.plain else ("embeddings",):
        start, given = time.process_time(), kind == "embeddings"
        model = Zipfel(seed=1, threads=args.threads, preset=args.preset)
        model.fit(train, vocabulary=args.data / "vocabulary.tsv", embeddings=own if given else None)
        fitted = time.process_time() - start
        ranking, truth = model.predict(test, K_GAIN, embeddings=asked if given else None), model._truth(test)
        found: dict[str, Any] = {"with": kind, "fit CPU s": round(fitted, 1)}
        found["embedded"] = int(np.any(own, axis=1).sum()) if given else 0
        kept = [(tried.part, round(tried.gain or 0.0, 5), tried.kept) for tried in model.method_.plan_ if tried.tried]
        found["parts"] = kept
        for language in sorted(set(spoken.tolist())):
            found[language] = figures(ranking, truth, np.flatnonzero(spoken == language))
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
