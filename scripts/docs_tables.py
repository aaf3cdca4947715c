"""Tables of the docs that are made from the code and from data files: rules of auto, a plan, metrics of systems."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def filled(markdown: str) -> str:
    """The page with each `<!-- NAME -->` of `TABLES` replaced by its table."""
    return re.sub(r"<!-- (\w+) -->", lambda found: TABLES[found[1]]() if found[1] in TABLES else found[0], markdown)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """numbers: columns at the right that are aligned to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---" * (len(head) - numbers) + "|---:" * numbers + "|"]
    return "\n".join([*lines, *("| " + " | ".join(map(cell, row)) + " |" for row in rows)])


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def read_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RESULTS / name).read_text(encoding="utf-8").splitlines()]


# -- auto


def shapes() -> dict[str, Any]:
    """Shapes of two data sets of the benchmarks, as examples."""
    from zipfel.evidence.shape import Shape

    facts = json.loads((RESULTS / "shapes.json").read_text(encoding="utf-8"))
    return {name: Shape.from_facts(shape) for name, shape in facts.items()}


def rules_table() -> str:
    from zipfel.evidence.rules import RULES
    from zipfel.methods.auto import ALL_PARTS

    examples = shapes()
    rows = [
        [
            f"`{rule.part}`",
            ALL_PARTS[rule.part].title,
            rule.effort,
            _condition(rule),
            *(_cost(rule, shape) for shape in examples.values()),
            "if it pays" if rule.must_pay else "always",
        ]
        for rule in RULES
    ]
    return table(["part", "evidence", "from preset", "tried for", *(f"cost: {n}" for n in examples), "stays"], rows)


def _condition(rule: Any) -> str:
    needs = f"with `zipfel[{rule.needs}]`" if rule.needs else ""
    after = f"if there is `{'` or `'.join(rule.after)}`" if rule.after else ""
    return "; ".join(filter(None, (rule.why, after, needs))) or "all data"


def _cost(rule: Any, shape: Any) -> str:
    return f"{float(f'{rule.cost(shape):.2g}'):g}" if rule.works(shape) else "not tried"


def settings_table() -> str:
    """The functions of `rules` that give a setting for a shape."""
    from zipfel.evidence import rules

    examples = shapes()
    names = ("damping", "classifier_cost", "neighbors", "shortlist", "random_negatives")
    rows = []
    for name in names:
        function = getattr(rules, name)
        values = [f"{_called(function, shape):g}" for shape in examples.values()]
        rows.append([f"`{name}`", " ".join((inspect.getdoc(function) or "").split()), *values])
    return table(["setting", "rule", *examples], rows)


def _called(function: Callable[..., float], shape: Any) -> float:
    takes_effort = "effort" in inspect.signature(function).parameters
    return function(shape, "default") if takes_effort else function(shape)


def plan_table() -> str:
    """The plan of a model of the bundled data."""
    plan: Sequence[Mapping[str, Any]] = json.loads((RESULTS / "plan.json").read_text(encoding="utf-8"))
    rows = [
        [
            f"`{one['part']}`",
            "yes" if one["tried"] else "no",
            "" if one["gain"] is None else f"{100 * one['gain']:+.2f} ± {100 * one['error']:.2f}",
            "yes" if one["kept"] else "no",
            "" if one["kept"] else one["why"],
        ]
        for one in plan
    ]
    return table(["part", "tried", "gain on held-out, points", "kept", "why not"], rows)


def gains_table() -> str:
    """What held-out documents lose without a part when all others stay; in bold if it is twice its standard error."""
    measured = json.loads((RESULTS / "part_gains.json").read_text(encoding="utf-8"))["gains"]
    parts = list(dict.fromkeys(part for gains in measured.values() for part in gains))

    def shown(gain: Sequence[float] | None) -> str:
        if gain is None:
            return ""
        text = f"{gain[0]:+.2f} ± {gain[1]:.2f}"
        return f"**{text}**" if gain[0] > 2 * gain[1] > 0 else text

    rows = [
        [data, *(shown(gains.get(part, {}).get("precision")) for part in parts)] for data, gains in measured.items()
    ]
    return table(["data", *(f"`{part}`" for part in parts)], rows)


# -- measurements


def systems_table() -> str:
    """Every system of `peers.jsonl`, a table a data set."""
    return tables_by_data(read_lines("peers.jsonl"))


def chosen_systems_table(data: Sequence[str]) -> str:
    """Every system on the data sets that are named, in one table."""
    rows = [row for name in data for row in read_lines("peers.jsonl") if row["data"] == name]
    return measured_table(rows, ["data"])


def methods_table() -> str:
    """Every method of `methods.jsonl`, a table a data set."""
    return tables_by_data(read_lines("methods.jsonl"))


def tables_by_data(rows: Sequence[Mapping[str, Any]]) -> str:
    names = dict.fromkeys(row["data"] for row in rows)
    tables = [f"**{name}**\n\n" + measured_table([row for row in rows if row["data"] == name]) for name in names]
    return "\n\n".join(tables)


MEASURED: Mapping[str, tuple[str, str]] = {
    **{name: (name, ".1f") for name in ("P@1", "P@3", "P@5", "PSP@1", "PSP@5")},
    "train_s": ("training, s", ".2g"),
    "model_mb": ("model, MB", ".3g"),
    "single_ms": ("one document, ms", ".2f"),
}
"""Of a system's figures: column and format."""


def measured_table(rows: Sequence[Mapping[str, Any]], before: Sequence[str] = ()) -> str:
    """A row for each system. before: keys that become columns on the left."""
    head = [*before, "system", *(title for title, _ in MEASURED.values())]
    lines = [[*(row[key] for key in before), row["system"], *figures(row)] for row in rows]
    return table(head, lines, numbers=len(MEASURED))


def figures(row: Mapping[str, Any]) -> list[str]:
    return [f"{float(format(row[key], kind)):g}" if kind[-1] == "g" else format(row[key], kind)
            for key, (_, kind) in MEASURED.items()]  # fmt: skip


def abilities_table() -> str:
    """What the methods' classes offer."""
    from zipfel.methods.registry import method_class, method_names

    rows = []
    for name in method_names():
        cls = method_class(name)
        able = [hasattr(cls, verb) for verb in ("partial_fit", "explain")]
        rows.append([f"`{name}`", cls.title, *("yes" if can else "no" for can in able)])
    return table(["method", "what it is", "adds documents later", "explains"], rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "rules": rules_table,
    "settings": settings_table,
    "plan": plan_table,
    "gains": gains_table,
    "systems": systems_table,
    "methods": methods_table,
    "abilities": abilities_table,
}
