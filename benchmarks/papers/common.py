"""Runs methods x presets x data x seeds and shows what comes out beside what a paper printed.

A module of this folder declares its paper's tables and calls `main(NAME, TABLES, __doc__)`. Then

    python -m benchmarks.papers.lightdxml [TABLE...] [--data delicious] [--seeds 3] [--points 2000] [--show]

runs each (data set, method, seed) that is not measured yet in a process of its own (`zipfel.bench`), writes each row
to benchmarks/papers/<name>.json at once, draws docs/figures/papers/<name>-<table>.svg, prints Markdown, and puts it
between the table's marks in docs/methods/<name>.md. `--points 2000` draws so many points of train for a reduced run.
`--long 180` gives one seed to what trains longer than that. `--show` prints and draws what is in the JSON file and runs
nothing.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.papers.fits import shared_fits
from benchmarks.papers.pages import PAGES, put
from benchmarks.papers.picture import draw
from benchmarks.papers.rows import COSTS, Published, Row, Table, Variant, markdown
from benchmarks.papers.special import Special
from zipfel.bench.runner import Bench, Record
from zipfel.bench.sources import Source, find_source
from zipfel.bench.systems import our_methods
from zipfel.data import Dataset, read, write
from zipfel.errors import ParameterError, nearest

__all__ = ["DATA", "Published", "Special", "Table", "Variant", "main"]

HERE = Path(__file__).parent
DATA = ("bibtex", "delicious", "debian-tags", "debian-deps", "eurlex57k")
"""The data sets that every method's accuracy is measured on."""
FIGURES = HERE.parents[1] / "docs" / "figures" / "papers"


def main(name: str, tables: Sequence[Table], description: str | None = None, special: Sequence[Special] = ()) -> None:
    """The command line of a paper's module. special: tables that the bench has no rows for."""
    asked = arguments(description or "", [*tables, *special])
    chosen = [table for table in tables if not asked.tables or table.name in asked.tables]
    for table in chosen:
        rows = read_rows(asked.rows / f"{name}.json", table)
        for data in [] if asked.show else asked.data or table.data:
            for row in run(asked, table, data, rows):
                rows = write_row(asked.rows / f"{name}.json", tables, table, row)
        if rows:
            picture = draw(table, rows, asked.figures / f"{name}-{table.name}.svg")
            print(markdown(table, rows), f"![{table.title}]({picture})\n", sep="\n", flush=True)
            put(name, table.name, markdown(table, rows), picture, asked.pages)
    for further in special:
        if not asked.tables or further.name in asked.tables:
            further.run(asked, name)


def arguments(description: str, tables: Sequence[Table | Special]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help=f"which; of {', '.join(table.name for table in tables)}")
    parser.add_argument("--shared", type=Path, default=Path("..") / "shared" / "data", help="where the data sets are")
    parser.add_argument("--data", nargs="+", default=[], help="names under --shared, or folders; default: the table's")
    parser.add_argument("--points", type=int, default=0, help="points of train to draw; 0: all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--long", type=float, default=math.inf, help="seconds of training above which one seed is run")
    parser.add_argument("--anew", action="store_true", help="measure again what is there")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=3600, help="seconds after which a run is given up")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="where finished runs are kept")
    parser.add_argument("--rows", type=Path, default=HERE, help="where the rows are kept")
    parser.add_argument("--figures", type=Path, default=FIGURES)
    parser.add_argument("--pages", type=Path, default=PAGES, help="where the methods' pages are")
    parser.add_argument("--show", action="store_true", help="run nothing, print what is there")
    asked = parser.parse_args()
    for word in asked.tables:
        if word not in (known := [table.name for table in tables]):
            raise ParameterError(f"there is no table {word!r}{nearest(word, known)}")
    return asked


def run(asked: argparse.Namespace, table: Table, data: str, known: Sequence[Row]) -> Iterator[Row]:
    """The rows of one data set that are not known; runs that failed are told by the runner and left out."""
    source, name, seeds = source_of(asked, data), Path(data).name, range(1, (table.seeds or asked.seeds) + 1)
    have = {(row["data"], row["points"], row["variant"], row["seed"]) for row in known} if not asked.anew else set()
    short = {row["variant"] for row in known if row["data"] == name and row["train_seconds"] <= asked.long}
    for seed in seeds:
        missing = [v for v in table.variants if (name, asked.points, v.name, seed) not in have]
        mine = missing if seed == 1 else [variant for variant in missing if variant.name in short]
        for variant, record in _records(asked, mine, source, seed):
            if record["train_seconds"] <= asked.long:
                short.add(variant)
            yield _row(table, variant, name, asked.points, record)


def _records(
    asked: argparse.Namespace, variants: Sequence[Variant], source: Source, seed: int
) -> Iterator[tuple[str, Record]]:
    """(name of the variant, its record) of one seed: in processes of their own, or of one fit in this one."""
    bench = Bench(asked.out, asked.threads, [seed], timeout=asked.timeout)
    for method in dict.fromkeys(variant.method for variant in variants if variant.after is None):
        (record,) = bench.run([source], our_methods([method]))
        if record["status"] == "ok":
            yield from ((v.name, record) for v in variants if v.after is None and v.method == method)
    shared = [variant for variant in variants if variant.after is not None]
    yield from shared_fits(shared, source, asked.out, [seed], asked.threads) if shared else ()


def _row(table: Table, variant: str, data: str, points: int, record: Record) -> Row:
    metrics = {name: number for name, number in record["metrics"].items() if "[" not in name}
    machine = "{cpu}, {cores} cores".format(**record["machine"])
    kept = {name: record[name] for name in ("seed", "threads", "version", *COSTS) if name in record}
    named = {"table": table.name, "data": data, "points": points, "variant": variant}
    facts = {**{name: record.get(name, {}) for name in ("phases", "facts")}, "machine": machine, "metrics": metrics}
    return {**named, "method": record["system"], **kept, **facts}


def source_of(asked: argparse.Namespace, data: str) -> Source:
    """The data set, or the folder of a part of it, which is drawn once and kept."""
    whole = find_source(str(asked.shared / data) if (asked.shared / data).is_dir() else data)
    if not asked.points:
        return whole
    if whole.files is None:
        raise ParameterError(f"--points needs files, and {data} is bundled")
    folder = asked.out / "parts" / f"{whole.name}-{asked.points}"
    if not any(folder.glob("test.*")):
        folder.mkdir(parents=True, exist_ok=True)
        train, test = (read(file) for file in whole.files)
        if train.label_names is not None and test.label_names is not None:
            test = test.relabel(train.label_names, extend=True)
        order = np.random.default_rng(0).permutation(train.n_points)
        _put(train.take(np.sort(order[: asked.points])), folder, "train")
        _put(test, folder, "test")
    return find_source(str(folder))


def _put(dataset: Dataset, folder: Path, part: str) -> None:
    write(dataset, folder / f"{part}.{'txt' if dataset.texts is None else 'jsonl'}")


def read_rows(file: Path, table: Table) -> list[Row]:
    """What was measured of a table."""
    rows: list[Row] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return [row for row in rows if row["table"] == table.name]


def write_row(file: Path, tables: Sequence[Table], table: Table, row: Row) -> list[Row]:
    """Puts a row in place of what the file has of the same data, variant and seed, and of other sizes of train; returns
    the table's rows."""

    def replaced(old: Row) -> bool:
        same = (old["data"], old["variant"]) == (row["data"], row["variant"])
        return same and (old["seed"] == row["seed"] or old["points"] != row["points"])

    mine = [*(old for old in read_rows(file, table) if not replaced(old)), row]
    rows = [row for other in tables for row in (mine if other is table else read_rows(file, other))]
    lines = ",\n".join(json.dumps(row) for row in rows)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    return mine
