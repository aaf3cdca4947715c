"""What a paper shows that is no row of a bench: fitted in this process, kept as JSON, shown as Markdown and a picture.

`Special(name, title, columns, measure)`: measure(asked) yields rows, dicts with the columns' names. Rows of the same
`data` take the place of what the file has; a run with `--points` has rows of its own beside those of the whole set.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks import small
from benchmarks.papers.pages import put
from zipfel.bench.systems import parse_method
from zipfel.methods import Method, Points, make_method
from zipfel.run import Run
from zipfel.system.threads import use_threads

mpl.rcParams.update({"svg.hashsalt": "zipfel", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
Row = dict[str, Any]


@dataclass(frozen=True)
class Special:
    """A table of its own. data: which sets; x and curve: columns of the horizontal axis and of what names a curve,
    where it is drawn; y: what is drawn."""

    name: str
    title: str
    columns: Sequence[str]
    measure: Callable[[argparse.Namespace, str], Iterator[Row]]
    data: Sequence[str]
    x: str = ""
    curve: str = ""
    y: str = ""

    def run(self, asked: argparse.Namespace, paper: str) -> None:
        """Measures, unless --show, keeps the rows, prints and draws."""
        file = asked.rows / f"{paper}-{self.name}.json"
        rows: list[Row] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        if not asked.show:
            for data in asked.data or self.data:
                name = f"{Path(data).name}{f', {asked.points:,} points' if asked.points else ''}"
                rows = [row for row in rows if row["data"] != name]
                for row in self.measure(asked, data):
                    rows.append({"data": name, **row})
                    print(json.dumps(rows[-1]), flush=True)
                    lines = ",\n".join(json.dumps(row) for row in rows)
                    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        if not rows:
            return
        text = markdown(self.title, ("data", *self.columns), rows)
        picture = self.draw(rows, asked.figures / f"{paper}-{self.name}.svg") if self.x else None
        print(text, *([f"![{self.title}]({picture})\n"] if picture else []), sep="\n", flush=True)
        put(paper, self.name, text, picture, asked.pages)

    def draw(self, rows: Sequence[Row], file: Path) -> Path:
        """A panel for each data set, a curve for each value of `curve`; means over rows with the same x."""
        names = list(dict.fromkeys(row["data"] for row in rows))
        figure = Figure(figsize=(max(4.2, 3.6 * len(names)), 3.2), layout="constrained")
        for axes, name in zip(np.atleast_1d(figure.subplots(1, len(names))), names, strict=True):
            for curve in dict.fromkeys(row[self.curve] for row in rows if row["data"] == name):
                mine = [row for row in rows if (row["data"], row[self.curve]) == (name, curve)]
                x = sorted({row[self.x] for row in mine})
                y = [np.mean([row[self.y] for row in mine if row[self.x] == at]) for at in x]
                axes.plot(x, y, "o-", markersize=4, label=str(curve))
            axes.set(title=name, xlabel=self.x, ylabel=self.y)
            axes.grid(alpha=0.3)
            axes.legend(fontsize=7)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, metadata={"Date": None})
        return file


def markdown(title: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"### {title}", "", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(_cell(row.get(column, '')) for column in columns)} |" for row in rows]
    return "\n".join([*lines, ""])


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def points(asked: argparse.Namespace, data: str) -> tuple[Points, Points]:
    """(train, test) of a data set; train cut to --points."""
    source = argparse.Namespace(shared=asked.shared, out=asked.out, threads=asked.threads, test_points=0)
    _, train, test = small.rows(source, data)
    return small.drawn(train, asked.points, 0), test


def fitted(asked: argparse.Namespace, word: str, train: Points, seed: int, valid: Points | None = None) -> Method:
    """The method of a word as for `zipfel bench`, trained."""
    name, preset, own = parse_method(word)
    method = make_method(name, own, preset)
    with use_threads(asked.threads):
        method.fit(train, valid, Run(seed=seed, threads=asked.threads))
    return method
