"""Word vectors of a corpus in fastText's text format, by skip-gram with negative sampling.

    python -m benchmarks.papers.word_vectors TRAIN.jsonl.gz OUT.vec [--dim 300] [--passes 3] [--window 5]

`zipfel fit ... --method lightdxml --set tokens=file --set vectors=OUT.vec --set dim=300` starts from them. Only whole
words are learnt: fastText's pieces of words are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from zipfel.data import read
from zipfel.features import Vectorizer
from zipfel.graph.embedding import LAST_RATE, RATE, noise_table
from zipfel.kernels.skipgram import skipgram_pass

Floats = npt.NDArray[np.float32]
_LENGTH = 50
"""Words of a text that are read in one piece."""


def train_vectors(
    texts: Sequence[str], vectorizer: Vectorizer, dim: int, *, passes: int = 3, window: int = 5, seed: int = 0
) -> Floats:
    """(n_features, dim) of the words that the fitted vectoriser knows."""
    corpus = np.array(list(_pieces(texts, vectorizer)), dtype=np.int32)
    n_words = vectorizer.n_features + 1  # the last fills up a text's last piece
    rng = np.random.default_rng(seed)
    words = ((rng.random((n_words, dim)) - 0.5) / dim).astype(np.float32)
    contexts, noise = np.zeros_like(words), noise_table(corpus, n_words)
    scratch = np.empty(dim, dtype=np.float32), np.empty(5, dtype=np.int32)
    rates = np.linspace(RATE, LAST_RATE, passes + 1, dtype=np.float32)
    for turn in range(passes):
        order = rng.permutation(len(corpus))
        skipgram_pass(
            corpus[order], window, noise, 5, rates[turn], rates[turn + 1], seed + turn, words, contexts, *scratch
        )
    return words[:-1]


def _pieces(texts: Sequence[str], vectorizer: Vectorizer) -> Iterator[list[int]]:
    """Each text's known words as column numbers, in pieces of one length."""
    columns, fill = vectorizer.vocabulary, vectorizer.n_features
    for text in texts:
        known = [columns[token.token] for token in vectorizer.tokens(text) if token.token in columns]
        for a in range(0, len(known), _LENGTH):
            piece = known[a : a + _LENGTH]
            yield piece + [fill] * (_LENGTH - len(piece))


def write_vectors(vectors: Floats, names: Sequence[str], path: Path) -> None:
    """A line "words dim", then a word and its numbers a line; n-grams have no line."""
    whole = [i for i, name in enumerate(names) if " " not in name]
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{len(whole)} {vectors.shape[1]}\n")
        for i in whole:
            file.write(f"{names[i]} {' '.join(f'{number:.5g}' for number in vectors[i])}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--window", type=int, default=5)
    asked = parser.parse_args()
    texts = read(asked.texts).texts or []
    vectorizer = Vectorizer().fit(texts)
    vectors = train_vectors(texts, vectorizer, asked.dim, passes=asked.passes, window=asked.window)
    write_vectors(vectors, vectorizer.feature_names, asked.out)


if __name__ == "__main__":
    main()
