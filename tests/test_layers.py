"""The house stands: imports go one way, nothing goes round, and nothing is too long to read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "zipfel"

LAYERS = [
    {"errors", "executor", "config", "system", "ranking", "run", "points", "state", "quantize"},
    {"data"},
    {"datasets"},
    {"features"},
    {"explanation"},
    {"metrics"},
    {"kernels"},
    {"index"},
    {"nn", "losses", "regularizers"},
    {"graph"},
    {"training"},
    {"linear", "neighbors"},
    {"labeltext"},
    {"calibration", "decisions"},
    {"evidence"},
    {"methods"},
    {"persistence", "estimator", "classifier"},
    {"scale"},
    {"tuning"},
    {"bench"},
    {"report"},
    {"serve"},
    {"cli"},
]
"""Each row may import the rows above it, and its own. A new folder needs a place here."""

DOORS = {"__init__", "__main__"}
"""The package's own front and back door: they hand on names, and may import anything."""

FILE_LINES, FUNCTION_LINES = 360, 60
LONGER = {"zipfel.linear._solver:solve_one": 75}
"""Functions that may be longer, and how long: a solver's loop that reads better in one piece."""


@cache
def modules() -> dict[str, ast.Module]:
    """Dotted name -> parsed module, for every file of the package."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.AST) -> Iterator[str]:
    """Names under zipfel that a module imports, also inside of functions; `from a import b` gives a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "zipfel")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}: write it out"
            if node.module and node.module.split(".")[0] == "zipfel":
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def edges() -> dict[str, set[str]]:
    """Module -> modules that it imports."""
    known = modules()
    return {name: {other for other in imported(tree) if other in known} - {name} for name, tree in known.items()}


def test_every_room_has_a_place() -> None:
    rooms = {room(name) for name in modules()} - DOORS
    assert rooms <= set().union(*LAYERS)


def test_imports_go_one_way() -> None:
    height = {name: row for row, names in enumerate(LAYERS) for name in names}
    wrong = [
        f"{name} imports {other}"
        for name, others in edges().items()
        for other in others
        if room(name) not in DOORS and room(other) not in DOORS and height[room(other)] > height[room(name)]
    ]
    assert not wrong


def test_no_module_imports_itself_round_corners() -> None:
    graph = edges()
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for other in sorted(graph[name]):
                if not name.startswith(other + "."):  # the file of a folder that one is in
                    visit(other, (*path, name))
            done.add(name)

    for name in sorted(graph):
        if room(name) not in DOORS:
            visit(name, ())


@pytest.mark.parametrize("name", sorted(modules()))
def test_files_and_functions_are_short_enough_to_read(name: str) -> None:
    tree = modules()[name]
    path = PACKAGE.parent.joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            limit = LONGER.get(f"{name}:{node.name}", FUNCTION_LINES)
            assert (node.end_lineno or 0) - node.lineno < limit, node.name


def test_nothing_that_could_run_foreign_code() -> None:
    banned = {"pickle", "cPickle", "marshal", "shelve", "joblib", "dill"}
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                assert not {found.split(".")[0] for found in names} & banned, name
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec"}, name
