"""Options that several commands share, and those of `fit`: names, limits and help in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_METHOD = "auto"
KS = "1,3,5"

_FILES = "Tagged documents: JSONL, CSV, XMC, svmlight, ARFF, fastText, npz; also .gz and .zst; - reads standard input."
_SET = "A parameter, e.g. --set n_neighbors=50 or --set vectorizer.ngrams=2; may be repeated."
_FORMAT = "Format of the files: auto, xmc, xmc-pair, svmlight, arff, jsonl, csv, ..."

Train = Annotated[str, typer.Argument(help=_FILES)]
Out = Annotated[Path, typer.Option(help="Folder for the model.")]


def complete_method(incomplete: str) -> list[str]:
    """For the shell: methods that begin so."""
    from zipfel.methods import method_names

    return [name for name in method_names() if name.startswith(incomplete)]


def complete_preset(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completion in the shell: the presets of the line's method that begin with the given letters."""
    from zipfel.methods import method_class, method_names

    method = ctx.params.get("method") or DEFAULT_METHOD
    presets = method_class(method).presets if method in method_names() else {}
    return [name for name in presets if name.startswith(incomplete)]


def complete_format(incomplete: str) -> list[str]:
    """For the shell: formats of data files that begin so."""
    from zipfel.data.formats import FORMATS

    return [name for name in ("auto", *FORMATS) if name.startswith(incomplete)]


MethodName = Annotated[
    str, typer.Option(help="The method; `zipfel methods` lists them.", autocompletion=complete_method)
]
Preset = Annotated[
    str | None,
    typer.Option(help="A named set of the method's parameters, or a file of `tune`.", autocompletion=complete_preset),
]
Valid = Annotated[
    str | None, typer.Option(help="Validation file for the method's choices (default: a split of the training set).")
]
ValidShare = Annotated[
    float | None, typer.Option(min=0.001, max=0.9, help="Share of the training set that is held out for choices.")
]
Propensity = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Constants of PSP: two numbers, or a data set's name, e.g. AmazonTitles-670K."),
]
Test = Annotated[str | None, typer.Option(help="Test file to evaluate on at the end; never used for a choice.")]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=_SET)]
WeightingName = Annotated[str, typer.Option(help="Weighting of ready-made features: none, l2, tfidf, or auto.")]
Seed = Annotated[int, typer.Option(min=0, help="Start of the random numbers: same seed and threads, same model.")]
TimeBudget = Annotated[
    float | None, typer.Option(min=1, help="Seconds that training may take; optional parts are left out.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint of an interrupted run.")]
Device = Annotated[str, typer.Option(help="Where networks train: cpu, cuda, cuda:N or mps; all else runs on the CPU.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Cores to use (default: all that this process may use).")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes of a Ray cluster that share the work.")]
By = Annotated[
    str,
    typer.Option(help="With --workers: rows, each worker loads the model; or labels, each has some labels' weights."),
]
Address = Annotated[str | None, typer.Option(help="With --workers: the address of a running Ray cluster, e.g. auto.")]
MaxMemory = Annotated[
    str | None,
    typer.Option(metavar="8GB", help="Memory limit: the plan with the most parts that fits is used."),
]
ExplainPlan = Annotated[
    bool, typer.Option("--explain-plan", help="Show auto's parts: tried, gain on held-out documents, kept or why not.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Labels = Annotated[str | None, typer.Option(help="Second file of a pair: labels of XMC (new), npz, ARFF's XML.")]
LabelColumn = Annotated[str | None, typer.Option(help="CSV/TSV/Parquet/JSONL: the column that holds the labels.")]
LabelSeparator = Annotated[
    str | None, typer.Option(help="CSV/TSV: separator of labels in a cell; none: one label a cell.")
]
TextColumn = Annotated[str | None, typer.Option(help="CSV/TSV/Parquet/JSONL: the text's column; a,b joins two.")]
OnError = Annotated[str, typer.Option(help="If a line cannot be read: stop, skip it, or print null.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file or folder.")]
Format = Annotated[str, typer.Option("--format", help=_FORMAT, autocompletion=complete_format)]
Vocabulary = Annotated[
    str | None, typer.Option(help="Concepts and their names: SKOS (Turtle, RDF/XML), TSV, CSV, JSONL.")
]
Embeddings = Annotated[
    Path | None,
    typer.Option(metavar="FILE.npy", help="Your embeddings of the documents, a row a document."),
]
EmbeddingsOfFiles = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE.npy",
        help="Your embeddings, a row a document; once for each file: training, --valid, --test, in this order.",
    ),
]
LabelEmbeddings = Annotated[
    Path | None, typer.Option(metavar="FILE.npy", help="Your embeddings of label names, in the vocabulary's order.")
]
Encoder = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:NAME",
        help="What makes embeddings of texts: a function of a list of texts, or an object with `encode`.",
    ),
]
UnknownLabels = Annotated[str, typer.Option(help="Labels that are not in the vocabulary: skip or refuse.")]
Language = Annotated[str | None, typer.Option(help="Language of the names that are shown, e.g. en.")]
_LIMIT = "The most labels of a document (5; with --threshold 100)."
Limit = Annotated[int | None, typer.Option("-k", "--k", "--limit", min=1, help=_LIMIT, show_default=False)]
Threshold = Annotated[
    str | None,
    typer.Option(help="Smallest probability of a label: 0.5, auto (best micro-F1) or auto:document."),
]
Optimise = Annotated[
    str | None,
    typer.Option(help="Choose the labels that are best by precision, recall, micro-f1, macro-f1, psp or coverage."),
]
Together = Annotated[
    bool, typer.Option("--together", help="With --optimise: choose the labels of all documents at once.")
]
Model = Annotated[Path, typer.Argument(help="Model folder that `zipfel fit` made.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write: .jsonl, .csv, .tsv (.gz), .parquet.")
]
To = Annotated[str | None, typer.Option(help="Output format: jsonl, csv, tsv, parquet, annif (text TAB <URI> <URI>).")]
Url = Annotated[
    str | None, typer.Option(help="Use this service, e.g. http://127.0.0.1:8000; MODEL is the model's name there.")
]
