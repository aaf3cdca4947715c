"""`zipfel data`: stats, convert, split, sample, synth. Thin: parse, call, print; heavy imports wait."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zipfel.cli.console import print_json, say, tell
from zipfel.cli.fields import Fields, with_file_options
from zipfel.cli.options import Force, Json

if TYPE_CHECKING:
    from zipfel.data import Dataset

app = typer.Typer(
    help="Look at, convert, split, sample and make up data sets.\n\n"
    "Formats: xmc, xmc-pair, svmlight, arff, jsonl, csv (and TSV), fasttext, npz, parquet, told from name and content; "
    "plain, .gz, .zst, or - for standard input.",
    no_args_is_help=True,
)

Source = Annotated[str, typer.Argument(metavar="FILE", help="The data; - reads standard input.")]
Target = Annotated[Path, typer.Argument(metavar="OUT", help="Where to write; .gz and .zst compress.")]
To = Annotated[
    str, typer.Option("--to", help="xmc, xmc-pair, svmlight, arff, jsonl, csv or fasttext; auto goes by the suffix.")
]
Salt = Annotated[str, typer.Option("--salt", help="Any word; another one gives another choice of rows.")]


@app.command()
@with_file_options
def stats(
    file: Source,
    json: Json = False,
    *,
    fields: Fields,
) -> None:
    """Show sizes, means and a histogram of head, torso and tail labels.

    Example:  zipfel data stats train.txt.gz
    """
    from zipfel.data import stats as measure

    dataset = _read(file, fields)
    found = measure(dataset)
    if json:
        print_json({"name": dataset.name, **found.to_dict()})
    else:
        from zipfel.cli.statistics import show_stats

        show_stats(dataset, found)


@app.command()
@with_file_options
def convert(
    file: Source,
    out: Target,
    to: To = "auto",
    force: Force = False,
    json: Json = False,
    *,
    fields: Fields,
) -> None:
    """Write a data set in another format.

    Where the format has no place for names, they go to labels.txt and features.txt beside it.

    Example:  zipfel data convert bibtex-train.arff train.txt.gz
    """
    refuse_existing([out], file, force=force)
    dataset = _read(file, fields)
    _write([(dataset, out)], to, as_json=json, source=file, force=force)


@app.command()
@with_file_options
def split(
    file: Source,
    rest: Annotated[Path, typer.Argument(metavar="REST", help="Where the larger part goes.")],
    held: Annotated[Path, typer.Argument(metavar="HELD", help="Where the held-out part goes.")],
    share: Annotated[float, typer.Option("--share", help="Share of rows that is held out, between 0 and 1.")] = 0.2,
    salt: Salt = "",
    to: To = "auto",
    force: Force = False,
    json: Json = False,
    *,
    fields: Fields,
) -> None:
    """Split a data set in two by a hash of each row's id, text or number. Every machine makes the same split.

    Example:  zipfel data split all.jsonl train.jsonl test.jsonl --share 0.2
    """
    from zipfel.data import split as halve
    from zipfel.errors import ParameterError

    if rest.resolve() == held.resolve():
        raise ParameterError(f"REST and HELD are the same file, {rest}: the second part would replace the first")
    refuse_existing([rest, held], file, force=force)
    parts = halve(_read(file, fields), share, salt=salt)
    _write(list(zip(parts, (rest, held), strict=True)), to, as_json=json, source=file, force=force)


@app.command()
@with_file_options
def sample(
    file: Source,
    out: Target,
    rows: Annotated[int, typer.Option("--rows", "-n", help="How many rows to keep.", min=1)] = 1000,
    salt: Salt = "",
    to: To = "auto",
    force: Force = False,
    json: Json = False,
    *,
    fields: Fields,
) -> None:
    """Keep some rows, chosen by the hash that `split` uses. A larger sample contains the smaller one.

    Example:  zipfel data sample train.jsonl.gz small.jsonl --rows 5000
    """
    from zipfel.data import sample as pick

    refuse_existing([out], file, force=force)
    dataset = _read(file, fields)
    _write([(pick(dataset, rows, salt=salt), out)], to, as_json=json, source=file, force=force)


@app.command()
def synth(
    out: Target,
    points: Annotated[int, typer.Option("--points", "-n", help="Rows.")] = 10_000,
    features: Annotated[int, typer.Option("--features", help="Columns of X.")] = 20_000,
    labels: Annotated[int, typer.Option("--labels", help="Labels in all.")] = 5_000,
    features_per_point: Annotated[
        float | None, typer.Option(help="Mean features of a row.", show_default="75, at most all")
    ] = None,
    labels_per_point: Annotated[
        float | None, typer.Option(help="Mean labels of a row.", show_default="5.5, at most all")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Start of the random numbers.", min=0)] = 0,
    to: To = "auto",
    force: Force = False,
    json: Json = False,
) -> None:
    """Generate data with power-law labels that can be learned, for tests of scale.

    Example:  zipfel data synth big.txt --points 1000000 --features 135000 --labels 670000
    """
    from zipfel.data import synth as make

    with _busy("making up data"):
        dataset = make(
            points,
            features,
            labels,
            features_per_point=min(75.0, features) if features_per_point is None else features_per_point,
            labels_per_point=min(5.5, labels) if labels_per_point is None else labels_per_point,
            seed=seed,
        )
    _write([(dataset, out)], to, as_json=json, force=force)


@app.command()
@with_file_options
def pack(
    file: Source,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make.")],
    no_labels: Annotated[bool, typer.Option("--no-labels", help="Documents without labels, to predict.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that parse text.", show_default="all cores")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace packed data of that name.")] = False,
    json: Json = False,
    *,
    fields: Fields,
) -> None:
    """Pack a data set into a folder of memory-mapped arrays, for data larger than memory.

    fit, evaluate, predict and bench take the folder as they take a file. JSON lines, fastText, plain text, svmlight and
    XMC are packed in pieces. The same command continues an interrupted packing.

    Example:  zipfel data pack train.jsonl.gz train.packed
    """
    from zipfel.cli.progress import TerminalProgress
    from zipfel.data.packing import pack as pack_file
    from zipfel.system.threads import available_threads

    with TerminalProgress().task(f"packing {Path(file).name}") as task:
        dataset = pack_file(
            file,
            out,
            **fields,  # type: ignore[arg-type]
            need_labels=not no_labels,
            workers=workers or available_threads(),
            force=force,
            on_rows=task.advance,
        )
    for sentence in dataset.report.sentences():
        say(sentence)
    size = sum(part.stat().st_size for part in out.iterdir())
    if json:
        facts = {"n_points": dataset.n_points, "n_features": dataset.n_features, "n_labels": dataset.n_labels}
        print_json({"packed": str(out), "bytes": size, **facts})
        return
    tell(f"{dataset.n_points:,} rows, {dataset.n_labels:,} labels -> {out} ({size / 1e6:,.1f} MB)")


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Packed data.")],
    json: Json = False,
) -> None:
    """Compare the checksums of all packed data. This reads every file.

    Example:  zipfel data check train.packed
    """
    from zipfel.data import check_packed

    dataset = check_packed(folder)
    if json:
        print_json({"packed": str(folder), "sound": True, "n_points": dataset.n_points})
        return
    tell(f"{folder} is sound: {dataset.n_points:,} rows, {dataset.n_labels:,} labels")


def _read(file: str, fields: Fields) -> Dataset:
    from zipfel.data import read

    given: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    with _busy(f"reading {file}"):
        dataset = read(file, **given)
    for sentence in dataset.report.sentences():
        say(sentence)
    return dataset


def _write(parts: list[tuple[Dataset, Path]], to: str, *, as_json: bool, source: str = "", force: bool) -> None:
    from zipfel.data import write

    made: list[dict[str, Any]] = []
    refuse_existing([path for _, path in parts], source, force=force)
    for dataset, path in parts:
        with _busy(f"writing {path}"):
            files = [*write(dataset, path, format=to), *_names_beside(dataset, path, to)]
        made.append({"files": [str(file) for file in files], "n_points": dataset.n_points})
    if as_json:
        print_json({"written": made, "n_features": parts[0][0].n_features, "n_labels": parts[0][0].n_labels})
        return
    for part in made:
        tell(f"{part['n_points']:,} rows -> {', '.join(part['files'])}")


def refuse_existing(targets: list[Path], source: str = "", *, force: bool) -> None:
    """Refuses to replace a file without --force, and to replace the input at all."""
    from zipfel.errors import ParameterError

    for target in targets:
        if source and target.exists() and Path(source).exists() and target.samefile(source):
            raise ParameterError(f"{target} is the input: choose another name for the output")
        if target.is_dir():
            raise ParameterError(f"{target} is a folder: name a file in it")
        if target.exists() and target.is_file() and not force:
            raise ParameterError(f"{target} exists already: choose another name, or add --force to replace it")


def _names_beside(dataset: Dataset, path: Path, to: str) -> list[Path]:
    """labels.txt and features.txt beside a format that has no names; files that are there already stay."""
    from zipfel.data import write_names
    from zipfel.data.writing import format_of

    if format_of(path, to) in ("arff", "jsonl", "csv", "fasttext"):
        return []
    return write_names(dataset, path.parent, overwrite=False)


def _busy(what: str) -> Any:
    """A spinner on a terminal's stderr; nothing elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        return console.status(what)
    from contextlib import nullcontext

    return nullcontext()
