"""`--max-memory` of `zipfel fit`: large files are packed first, so that they are mapped and not loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfel.cli.progress import TerminalProgress

if TYPE_CHECKING:
    from zipfel.classifier import Zipfel
    from zipfel.data import Dataset
    from zipfel.run import Run

_SHARE = 50
"""Files of more than the limit divided by this are packed: read whole they take several times their size."""


def memory_limit(words: str | None, workers: int | None) -> int | None:
    """Bytes, from what the user typed."""
    if words is None:
        return None
    from zipfel.errors import ParameterError
    from zipfel.scale.resident import parse_bytes

    if workers is not None:
        raise ParameterError("--max-memory is of one process: leave out --workers, or limit the cluster's memory")
    return parse_bytes(words)


@contextmanager
def packed_within(file: str, fields: Mapping[str, str | None], limit: int | None, out: Path) -> Iterator[str]:
    """The file, or a folder with it packed, which is removed at the end."""
    path = Path(file)
    if limit is None or not path.is_file() or path.stat().st_size * _SHARE < limit:
        yield file
        return
    from zipfel.data import pack
    from zipfel.system.temporary import scratch_beside

    given: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    with scratch_beside(out, "-packed") as folder:
        with TerminalProgress().task(f"packing {path.name}") as task:
            pack(path, folder, **given, on_rows=task.advance)
        yield str(folder)


def fit_model(model: Zipfel, train: Dataset, run: Run, limit: int | None, **given: Any) -> None:
    """`Zipfel.fit`, within so many bytes where there is a limit."""
    if limit is None:
        model.fit(train, run=run, **given)
        return
    from zipfel.scale.planning import fit_within

    fit_within(model, train, limit, run, **given)
