"""`zipfel bench`: our methods and other people's, side by side. Thin: parse, call, print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zipfel.cli.console import print_json, say, tell
from zipfel.cli.options import DEFAULT_METHOD, Propensity, Threads

if TYPE_CHECKING:
    from collections.abc import Sequence

ALL_PEERS = "omikuji,napkinxc,pecos,sklearn-ovr"


def bench(
    data: Annotated[
        list[str],
        typer.Argument(help="Folders with train.* and test.*, pairs TRAIN,TEST, or the bundled debian-tags."),
    ],
    methods: Annotated[
        str, typer.Option(help=r"Ours, e.g. knn,auto:quick (a preset) or 'knn\[n_neighbors=50;sharpness=8]'.")
    ] = DEFAULT_METHOD,
    peers: Annotated[str, typer.Option(help="Other tools; those that are not installed are skipped; or none.")] = (
        ALL_PEERS
    ),
    peer_python: Annotated[
        list[str] | None,
        typer.Option(metavar="PEER=PATH", help="The Python that has a peer, e.g. pecos=venv/bin/python; repeatable."),
    ] = None,
    seeds: Annotated[str, typer.Option(help="One run for each; tables show mean and spread.")] = "1",
    threads: Threads = None,
    weighting: Annotated[
        str, typer.Option(help="Weighting of ready-made features, for all systems: none, l2, tfidf, or auto.")
    ] = "auto",
    propensity: Propensity = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that a run may take.")] = 3600,
    out: Annotated[Path, typer.Option(help="Folder for runs.jsonl, table.md and the pictures.")] = Path("bench"),
    json: Annotated[bool, typer.Option("--json", help="Print the records of all runs as one JSON object.")] = False,
) -> None:
    """Compare methods and other tools on data. Each runs in its own process with the same rows and threads.

    The same command continues an interrupted bench: runs in OUT/runs.jsonl are not repeated.

    zipfel bench shared/bibtex debian-tags --methods knn --seeds 1,2,3 --peer-python pecos=pecos-venv/bin/python
    """
    from zipfel import metrics
    from zipfel.bench.runner import Bench
    from zipfel.bench.sources import find_sources
    from zipfel.bench.systems import our_methods, present_peers
    from zipfel.bench.table import markdown
    from zipfel.system.threads import available_threads

    if propensity is not None:
        metrics.Propensity.parse(propensity)  # a typing error should not cost an hour
    ours = our_methods(_words(methods))
    sources = find_sources(data)
    job = Bench(out, threads or available_threads(), parse_seeds(seeds), weighting, timeout, say, propensity)
    others = present_peers(_words(peers), parse_pythons(peer_python or []), say)
    records = job.run(sources, [*ours, *others])
    (out / "table.md").write_text(markdown(records), encoding="utf-8")
    pictures = _draw(records, out)
    if json:
        print_json({"runs": records})
        return
    tell(markdown(records))
    say(f"written: {', '.join(str(file) for file in (out / 'runs.jsonl', out / 'table.md', *pictures))}")


def _draw(records: Sequence[dict[str, Any]], out: Path) -> list[Path]:
    from zipfel.bench.plots import draw
    from zipfel.errors import MissingExtraError

    try:
        return draw(records, out)
    except MissingExtraError as missing:
        say(f"no pictures: {missing}")
        return []


def _words(text: str) -> list[str]:
    """Words between commas, each once; "none" is no word at all."""
    return [word for word in dict.fromkeys(part.strip() for part in text.split(",")) if word and word != "none"]


def parse_seeds(text: str) -> list[int]:
    from zipfel.errors import ParameterError

    try:
        seeds = list(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError:
        seeds = []
    if not seeds or min(seeds) < 0:
        raise ParameterError(f"--seeds takes whole numbers from 0 on, such as 1,2,3; got {text!r}")
    return seeds


def parse_pythons(words: Sequence[str]) -> dict[str, str]:
    from zipfel.errors import ParameterError

    pairs = [word.partition("=") for word in words]
    for (name, equals, path), word in zip(pairs, words, strict=True):
        if not (name and equals and path):
            raise ParameterError(f"--peer-python takes PEER=PATH, such as pecos=venv/bin/python; got {word!r}")
    return {name: path for name, _, path in pairs}
