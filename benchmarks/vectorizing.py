"""Text to TF-IDF rows, against scikit-learn's TfidfVectorizer.

    python -m benchmarks.vectorizing [--texts FILE] [--limit N] [--ngrams N] [--repeats N]

FILE is JSONL with a "text" in each line, plain or .gz; without it, eurlex57k's train part from the shared data folder
beside the checkout, else the bundled data set. Both fit and transform the same texts in memory, in one run; times are
the best of several, ours without compilation. The options are scikit-learn's defaults, and the rows must be equal, to
float32's rounding.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import Bar
from zipfel.features import Vectorizer, VectorizerConfig
from zipfel.system.threads import use_threads

THREADS = 2
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "eurlex57k" / "train.jsonl.gz"


def main() -> list[Bar]:
    options = arguments()
    texts = read_texts(options.texts, options.limit)
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) / 1e6
    Vectorizer().fit_transform(["compiles the kernels"])
    print(f"vectorising {len(texts):,} texts, {size:.0f} MB, fit and transform")
    ratio = compare(texts, size, options.ngrams, options.repeats)
    return [Bar("vectorising text, against TfidfVectorizer", ratio, 6)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="MB/s of zipfel's Vectorizer and of scikit-learn's TfidfVectorizer")
    parser.add_argument("--texts", type=Path, help="JSONL with texts, plain or .gz")
    parser.add_argument("--limit", type=int, help="only so many texts")
    parser.add_argument("--ngrams", type=int, default=1, help="longest word n-gram")
    parser.add_argument("--repeats", type=int, default=5, help="how often ours runs; scikit-learn runs twice")
    return parser.parse_args()


def read_texts(path: Path | None, limit: int | None) -> list[str]:
    if path is None and not SHARED.exists():
        from zipfel import datasets

        return list(datasets.load("debian-tags")[0].texts or ())[:limit]
    path = path or SHARED
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in itertools.islice(lines, limit)]


def compare(texts: list[str], size: float, ngrams: int, repeats: int) -> float:
    """Prints both; how many times as fast ours is with 2 threads."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = Vectorizer(VectorizerConfig(ngrams=ngrams, min_df=1, sublinear=False))
    peer = TfidfVectorizer(ngram_range=(1, ngrams))
    with use_threads(THREADS):
        ours, X = best(lambda: vectorizer.fit_transform(texts), repeats)
        again, _ = best(lambda: vectorizer.transform(texts), repeats)
    with use_threads(1):
        alone, _ = best(lambda: vectorizer.fit_transform(texts), repeats)
    theirs, Z = best(lambda: peer.fit_transform(texts), 2)
    for name, seconds in ((f"zipfel, {THREADS} threads", ours), ("zipfel, 1 thread", alone), ("scikit-learn", theirs)):
        print(f"  {name:<26} {seconds:7.2f} s {size / seconds:8.1f} MB/s {theirs / seconds:7.1f} x")
    print(f"  {'zipfel, transform only':<26} {again:7.2f} s {size / again:8.1f} MB/s")
    same = vectorizer.feature_names == list(peer.get_feature_names_out())
    print(f"  same tokens: {'yes' if same else 'NO'}, largest difference of a value: {difference(X, Z):.1e}")
    return theirs / ours


def best(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """(seconds of the quickest run, the last result)."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def difference(X: sp.csr_matrix, Z: sp.csr_matrix) -> float:
    """The largest, relative to the value; infinite where the non-zeros are not in the same places."""
    Z.sort_indices()
    if not (np.array_equal(X.indptr, Z.indptr) and np.array_equal(X.indices, Z.indices)):
        return float("inf")
    return float(np.max(np.abs(X.data - Z.data) / Z.data, initial=0.0))


if __name__ == "__main__":
    main()
