"""The metrics of zipfel.metrics once more, in plain Python and straight from the definitions."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log2

Rows = Sequence[Sequence[int]]


def inverse_propensity(count: int, n_train: int, A: float = 0.55, B: float = 1.5) -> float:
    return 1 + max(0.0, log(n_train) - 1) * (B + 1) ** A * (count + B) ** -A


def bucket(count: int) -> str:
    return "head" if count > 100 else "tail" if count <= 5 else "torso"


def naive(predicted: Rows, truth: Rows, counts: Sequence[int], n_train: int, ks: Sequence[int]) -> dict[str, float]:
    def count(label: int) -> int:
        return counts[label] if label < len(counts) else 0

    def inverse(label: int) -> float:
        return inverse_propensity(count(label), n_train)

    scores: dict[str, float] = {}
    for name in ("", "head", "torso", "tail"):
        suffix = f"[{name}]" if name else ""

        def mine(label: int, name: str = name) -> bool:
            return not name or bucket(count(label)) == name

        true_rows = [{label for label in row if mine(label)} for row in truth]
        for k in ks:
            found = _at_k(predicted, true_rows, mine, inverse, k, not name)
            scores |= {f"{metric}@{k}{suffix}": value for metric, value in found.items()}
    return scores


def _at_k(predicted, true_rows, mine, inverse, k, every_row):  # type: ignore[no-untyped-def]
    P = R = nDCG = gains = best = dcgs = best_dcgs = 0.0
    for row, true in zip(predicted, true_rows, strict=True):
        hit_ranks = [(rank, label) for rank, label in enumerate(row[:k], start=1) if label in true]
        P += len(hit_ranks) / k
        if not true:
            continue
        R += len(hit_ranks) / len(true)
        ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(true)) + 1))
        nDCG += sum(1 / log2(rank + 1) for rank, _ in hit_ranks) / ideal
        perfect = sorted((inverse(label) for label in true), reverse=True)[:k]
        gains += sum(inverse(label) for _, label in hit_ranks)
        best += sum(perfect)
        dcgs += sum(inverse(label) / log2(rank + 1) for rank, label in hit_ranks) / ideal
        best_dcgs += sum(worth / log2(rank + 1) for rank, worth in enumerate(perfect, start=1)) / ideal
    n_rows = len(predicted) if every_row else sum(bool(true) for true in true_rows)
    tops = [{label for label in row[:k] if label >= 0 and mine(label)} for row in predicted]
    labels = set().union(*tops, *true_rows)
    f1 = []
    for label in labels:
        tp = sum(label in top and label in true for top, true in zip(tops, true_rows, strict=True))
        f1.append(2 * tp / (sum(label in top for top in tops) + sum(label in true for true in true_rows)))
    hit_labels = set().union(*(top & true for top, true in zip(tops, true_rows, strict=True)))
    whole = _as_sets(tops, true_rows, k) if every_row else {}
    return {
        **whole,
        "P": P / len(predicted) if predicted else 0.0,
        "nDCG": nDCG / n_rows if n_rows else 0.0,
        "R": R / n_rows if n_rows else 0.0,
        "PSP": gains / best if best else 0.0,
        "PSnDCG": dcgs / best_dcgs if best_dcgs else 0.0,
        "coverage": len(hit_labels) / len(set().union(*true_rows)) if any(true_rows) else 0.0,
        "macro-F1": sum(f1) / len(f1) if f1 else 0.0,
    }


def _as_sets(tops, true_rows, k):  # type: ignore[no-untyped-def]
    n, rows = max(1, len(tops)), [*zip(tops, true_rows, strict=True)]
    both = sum(len(top) + len(true) for top, true in rows)
    return {
        "RP": sum(len(top & true) / min(k, len(true)) for top, true in rows if true) / n,
        "F1": sum(2 * len(top & true) / (len(top) + len(true)) for top, true in rows if top or true) / n,
        "micro-F1": 2 * sum(len(top & true) for top, true in rows) / both if both else 0.0,
    }
