"""LightDXML's tables and figures: python -m benchmarks.papers.lightdxml [TABLE...]; `common` has the options.

Table I's complexities are shown by Table IV's seconds, Table III is the data, Table V is in the presets.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.papers.common import DATA, Published, Special, Table, Variant, main
from benchmarks.papers.special import fitted, points
from benchmarks.papers.word_vectors import train_vectors, write_vectors
from zipfel.data import read
from zipfel.data.synthetic import synth
from zipfel.features import Vectorizer
from zipfel.methods import Points, make_method
from zipfel.methods.astec import Astec
from zipfel.methods.lightdxml import LightDXML
from zipfel.metrics import evaluate
from zipfel.nn.classifier_network import ClassifierNetwork
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.system.threads import use_threads
from zipfel.training import Batch, Batches, Plan
from zipfel.training.cycles import add_pairs
from zipfel.training.held_out import hold_out
from zipfel.training.reranker import Reranker
from zipfel.training.shortlist import Ids, ShortlistScorer, best_share, fused, rank_blocks, ranked

_DIM = 100
LARGE = ("debian-deps", "eurlex57k")
ACCURACY = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "nDCG@3", "nDCG@5")
STEPS = ("step 1", "step 2", "step 3", "step 4")
MODULES = ("module 1", "module 2", "modules 3, 4", "re-ranker")


def published(data: str, name: str, *values: float) -> Published:
    """A line of Table II: P, PSP, seconds, MB, ms."""
    columns = (*ACCURACY[:6], "train_seconds", "model_mb", "batch_ms")
    return Published(data, name, dict(zip(columns, values, strict=True)))


TABLE_2 = Table(
    name="table2",
    title="Table II: accuracy and size",
    variants=[
        Variant("LightDXML", "lightdxml:paper"),
        Variant("Astec", "astec:paper"),
        Variant("LightDXML, best", "lightdxml:best"),
    ],
    data=DATA,
    columns=(*ACCURACY, "train_peak_mb", "model_mb"),
    published=[
        published("EURLex-4K", "Astec", 80.81, 67.50, 55.66, 37.75, 43.80, 47.01, 136, 52.5, 0.95),
        published("EURLex-4K", "LightDXML", 82.38, 67.94, 56.18, 38.51, 44.57, 47.39, 75, 23.2, 0.42),
        published("AmazonCat-13K", "Astec", 87.54, 74.87, 60.88, 58.02, 64.20, 70.32, 7807, 2300, 1.00),
        published("AmazonCat-13K", "LightDXML", 94.76, 79.06, 64.96, 59.88, 67.40, 71.43, 1614, 291.4, 0.26),
        published("Wiki10-31K", "Astec", 80.79, 50.51, 37.13, 9.98, 7.28, 6.16, 237, 383.9, 1.29),
        published("Wiki10-31K", "LightDXML", 86.31, 73.45, 64.37, 23.43, 21.68, 21.18, 168, 249.1, 0.57),
        published("WikiSeeAlsoTitles-350K", "Astec", 19.76, 13.58, 10.52, 9.91, 12.16, 14.04, 5155, 2500, 0.61),
        published("WikiSeeAlsoTitles-350K", "LightDXML", 19.92, 13.69, 11.02, 10.35, 11.30, 12.55, 1430, 1500, 0.36),
        published("AmazonTitles-670K", "Astec", 40.07, 35.61, 32.65, 25.03, 28.17, 31.01, 4267, 3640, 2.24),
        published("AmazonTitles-670K", "LightDXML", 39.12, 35.88, 33.96, 27.23, 28.83, 30.56, 3535, 2840, 0.66),
    ],
)

TABLE_4 = Table(
    name="table4",
    title="Table II's times and Table IV: seconds of each module",
    variants=[Variant("Astec", "astec:paper"), Variant("LightDXML", "lightdxml:paper")],
    data=LARGE,
    columns=("train_seconds", "batch_ms", *MODULES, *STEPS),
    published=[
        Published("EURLex-4K", "Astec", dict(zip(MODULES, (67.6, 4.1, 40.3, 24.0), strict=True))),
        Published("EURLex-4K", "LightDXML", {"step 1": 21.6, "step 3": 7.7, "step 4": 45.0}),
        Published("Wiki10-31K", "Astec", dict(zip(MODULES, (186.0, 10.9, 60.0, 35.0), strict=True))),
        Published("Wiki10-31K", "LightDXML", {"step 1": 84.1, "step 3": 10.5, "step 4": 72.0}),
        Published("WikiSeeAlsoTitles", "Astec", dict(zip(MODULES, (2644.0, 321.0, 783.0, 1321.0), strict=True))),
        Published("WikiSeeAlsoTitles", "LightDXML", {"step 1": 303.0, "step 3": 136.0, "step 4": 963.0}),
    ],
)

FIGURE_2 = Table(
    name="figure2-beta",
    title="Figure 2, left: beta",
    variants=[
        Variant(f"beta {beta / 10:g}", "lightdxml:paper", x=beta / 10, after={"beta_": beta / 10}) for beta in range(11)
    ],
    data=DATA,
    columns=("P@1", "PSP@1"),
    x="beta",
)

FIGURE_2_EPOCHS = Table(
    name="figure2-epochs",
    title="Figure 2, right: epochs of the classifiers",
    variants=[Variant(f"{n} epochs", f"lightdxml:paper[epochs={n}]", x=n) for n in (4, 8, 16, 24)],
    data=("delicious", "debian-deps"),
    columns=("P@1", "PSP@1"),
    x="e_model",
)

SHORTLISTS = Table(
    name="shortlist",
    title="The shortlist, in prediction and in training",
    variants=[
        Variant("the shortlist decides, k = 700", "lightdxml:paper[shortlist=700]", after={}),
        Variant("all labels are scored", "lightdxml:paper[shortlist=700]", after={"scorer_.index": None}),
        Variant("100 labels shortlisted in prediction", "lightdxml:paper[shortlist=700]", after={"k_": 100}),
        Variant("100 frequent labels on every shortlist", "lightdxml:paper[shortlist=700;n_head=100]", after={}),
        Variant("trained with k = 100", "lightdxml:paper[shortlist=100]", after={}),
        Variant("trained with k = 400", "lightdxml:paper[shortlist=400]", after={}),
    ],
    data=LARGE,
    columns=("P@1", "P@3", "P@5", "PSP@1", "PSP@5", "batch_ms"),
)

STEP_2 = Table(
    name="step2",
    title="Step 2: what the label encoder brings",
    variants=[
        Variant("centroids (Astec's)", "lightdxml:paper[label_epochs=0]", after={}),
        Variant("label encoder", "lightdxml:paper", after={}),
        Variant("rate 3e-5", "lightdxml:paper[label_lr=0.00003]", after={}),
        Variant("rate 3e-3", "lightdxml:paper[label_lr=0.003]", after={}),
        Variant("random start, rate 3e-3", "lightdxml:paper[label_start=random;label_lr=0.003]", after={}),
    ],
    data=("delicious", "debian-deps"),
    columns=("Eq. 2 before", "Eq. 2 after", "spread", "P@1", "P@3", "P@5", "PSP@5"),
)

TOKENS = Table(
    name="tokens",
    title="First token embeddings, and cycles",
    variants=[
        Variant("latent semantic analysis", "lightdxml:paper", after={}),
        Variant("random tokens", "lightdxml:paper[tokens=random]", after={}),
        Variant("one cycle", "lightdxml:paper[relabel_every=100]", after={}),
    ],
    data=("delicious", "debian-deps"),
    columns=("P@1", "P@3", "P@5", "PSP@5"),
)


def word_vectors(asked: argparse.Namespace, data: str) -> Iterator[dict[str, Any]]:
    """Token embeddings at random, by latent semantic analysis, and by skip-gram on the training texts, read as .vec."""
    folder = asked.shared / data
    train, test = (read(next(folder.glob(f"{part}.jsonl*"))) for part in ("train", "test"))
    test = test.relabel(train.label_names or [], extend=True)
    train = train.take(np.sort(np.random.default_rng(0).permutation(train.n_points)[: asked.points or None]))
    vectorizer = Vectorizer().fit(train.texts or [])
    X, X_test = (vectorizer.transform(part.texts or []) for part in (train, test))
    Y = sp.csr_matrix((train.Y.data, train.Y.indices, train.Y.indptr), shape=(train.n_points, test.n_labels))
    file = asked.out / f"{data}-{train.n_points}.vec"
    write_vectors(train_vectors(train.texts or [], vectorizer, _DIM), vectorizer.feature_names, file)
    starts = {"random": {}, "corpus": {}, "file": {"vectors": str(file)}}
    for tokens, more in starts.items():
        for seed in range(1, asked.seeds + 1):
            method = make_method("lightdxml", {"tokens": tokens, "dim": _DIM, **more}, "paper")
            run = Run(seed=seed, threads=asked.threads, feature_names=vectorizer.feature_names)
            with use_threads(asked.threads):
                method.fit(Points(X, Y), None, run)
                found = evaluate(method.predict(X_test, 5), test.Y, train.label_counts(), train.n_points)
            shown = {name: 100 * found[name] for name in ("P@1", "P@3", "P@5", "PSP@1", "PSP@5")}
            yield {"tokens": tokens, "points": train.n_points, "seed": seed, **shown}


_SYNTHETIC = (40_000, 50_000, 100_000)
"""Points, features and labels of the made-up data of `search`."""
_HEAD = 100
"""Frequent labels that `search` puts on every shortlist."""


def search(asked: argparse.Namespace, data: str) -> Iterator[dict[str, Any]]:
    """One model predicts with all labels scored, and with its shortlist found by each search: CPU time of one run."""
    if data == "synthetic":
        n, n_features, n_labels = _SYNTHETIC
        made = synth(n + 2000, n_features, n_labels, seed=1)
        assert made.X is not None
        whole = Points(made.X, made.Y)
        train, test = whole.take(np.arange(n)), whole.take(np.arange(n, n + 2000))
        word = "lightdxml:paper[epochs=4;label_epochs=0;relabel_every=4;dim=100;tokens=random]"
    else:
        train, test = points(asked, data)
        word = "lightdxml:paper"
    method = fitted(asked, word, train, 1)
    assert isinstance(method, LightDXML)
    fitted_as, k, base = method.scorer_, method.k_, 0.0
    points_of_train = method.encode(train.X[:2000])
    frequent = np.argsort(-np.bincount(train.Y.indices, minlength=train.n_labels)[fitted_as.labels], kind="stable")
    for kind, n_head in (("", 0), *((kind, n) for n in (0, _HEAD) for kind in ("exact", "ivfpq", "hnsw"))):
        tables = fitted_as.classifiers, fitted_as.codes, fitted_as.mean, fitted_as.labels
        scorer = method.scorer_ = ShortlistScorer(*tables, frequent[:n_head])
        if kind:
            scorer.indexed(0, kind, points_of_train, k, 1)
        method.predict(test.X[:100], 5)
        start = time.process_time()
        ranking = method.predict(test.X, 5)
        cost = 1000 * (time.process_time() - start) / test.n_points
        base = base or cost
        found = evaluate(ranking, test.Y, ks=(1, 3, 5))
        quality = {f"P@{cut}": round(100 * found[f"P@{cut}"], 2) for cut in (1, 3, 5)}
        scored = f"{k} by {kind}{f' and {n_head} frequent ones' if n_head else ''}" if kind else "all"
        recall = 100.0 if scorer.index is None else round(100 * scorer.index.recall, 1)
        shown = {"points": train.n_points, "labels": len(scorer.labels), "scored": scored, "recall": recall}
        yield {**shown, **quality, "CPU ms": round(cost, 3), "of all's": round(cost / base, 2)}


def reranker(asked: argparse.Namespace, data: str) -> Iterator[dict[str, Any]]:
    """LightDXML, and Astec's re-ranker behind it (V.B.3): one model; held-out points choose the re-ranker's weight."""
    train, test = points(asked, data)
    method, astec, run = (
        fitted(asked, "lightdxml:paper", train, 1),
        make_method("astec"),
        Run(seed=1, threads=asked.threads),
    )
    assert isinstance(method, LightDXML)
    assert isinstance(astec, Astec)
    scorer, c = method.scorer_, astec.config
    rest, held = hold_out(train, method.config.valid_share, run.rng(4))  # as the method held them out
    first = ClassifierNetwork(method.tokens_, method.encoder_, scorer.classifiers)

    def mistakes(X: sp.csr_matrix) -> Ids:
        """(n, m) places of the labels that LightDXML's classifiers rank first."""
        found = scorer.shortlist(method.encode(X), method.k_).places
        return first.first_labels(first.first(X), found, c.mistakes)

    def extend(batch: Batch, _: np.random.Generator) -> None:
        add_pairs(batch, wrong[batch.rows])

    def rank(X: sp.csr_matrix, gammas: Sequence[float]) -> list[Ranking]:
        def of_block(block: sp.csr_matrix) -> list[Ranking]:
            found = scorer.shortlist(method.encode(block), method.k_)
            scores = fused(found, method.beta_)
            joined = [second.joined(block, found.places, scores, gamma) if gamma else scores for gamma in gammas]
            return [ranked(scorer.labels, found.places, one, 5) for one in joined]

        return rank_blocks(X, of_block)

    def p_at_1(network: ClassifierNetwork) -> float:
        logits = network.logits(network.first(held.X), first_held)
        return evaluate(ranked(scorer.labels, first_held, logits, 1), held.Y, ks=(1,))["P@1"]

    with use_threads(asked.threads):
        wrong = np.concatenate([mistakes(rest.X[a : a + 4096]) for a in range(0, rest.n_points, 4096)])
        first_held, start = mistakes(held.X), time.process_time()
        batches = Batches(
            rest.X, rest.Y[:, scorer.labels], size=method.config.batch_for(rest.n_points), seed=1, extend=extend
        )
        plan = Plan(epochs=c.ranker_epochs, lr=c.ranker_lr)
        second = Reranker.trained(first, c.mistakes, batches, astec.objective, plan, run, p_at_1)
        trained = time.process_time() - start
        gamma = best_share(lambda gammas: rank(held.X, gammas), held.Y)
        tables = second.network.tokens.nbytes + second.network.classifiers.nbytes
        for name, weight, more in (("LightDXML", 0.0, {}), ("with a re-ranker", gamma, {"MB": round(tables / 1e6, 1)})):
            start = time.process_time()
            ranking = rank(test.X, [weight])[0]
            cost = 1000 * (time.process_time() - start) / test.n_points
            found = evaluate(ranking, test.Y, ks=(1, 3, 5))
            quality = {f"P@{cut}": round(100 * found[f"P@{cut}"], 2) for cut in (1, 3, 5)}
            seconds = {"training, CPU s": round(trained, 1)} if more else {}
            yield {"variant": name, "gamma": weight, **quality, **seconds, **more, "CPU ms": round(cost, 3)}


RERANKER = Special(
    "reranker",
    "With a re-ranker: what it takes besides, and CPU milliseconds a document",
    ("variant", "gamma", "P@1", "P@3", "P@5", "training, CPU s", "MB", "CPU ms"),
    reranker,
    data=("bibtex", "delicious", "debian-deps"),
)

SEARCH = Special(
    "search",
    "The shortlist at prediction, by each search: CPU milliseconds a document, and their share of scoring all labels",
    ("points", "labels", "scored", "recall", "P@1", "P@3", "P@5", "CPU ms", "of all's"),
    search,
    data=("debian-deps", "synthetic"),
)

VECTORS = Special(
    "vectors",
    f"Word vectors trained on the corpus, {_DIM} numbers",
    ("points", "tokens", "seed", "P@1", "P@3", "P@5", "PSP@1", "PSP@5"),
    word_vectors,
    data=("debian-tags",),
)

TABLES = [TABLE_2, TABLE_4, FIGURE_2, FIGURE_2_EPOCHS, SHORTLISTS, STEP_2, TOKENS]

if __name__ == "__main__":
    main("lightdxml", TABLES, __doc__, [SEARCH, RERANKER, VECTORS])
