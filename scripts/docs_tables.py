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


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
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
    return f"{rule.cost(shape):.2g}" if rule.works(shape) else "not tried"


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


def systems_table(data: Sequence[str] = ()) -> str:
    """Every system of `peers.jsonl` on every data set, or on those that are named."""
    return measured_table([row for row in read_lines("peers.jsonl") if not data or row["data"] in data])


def methods_table() -> str:
    """Every method of `methods.jsonl`."""
    return measured_table(read_lines("methods.jsonl"))


def measured_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A row for each system, a column for each data set."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    found = []
    for system in dict.fromkeys(row["system"] for row in rows):
        of = {row["data"]: row for row in rows if row["system"] == system}
        found.append([system, *(system_cell(of.get(name)) for name in names)])
    return table(["", *names], found)


def system_cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    quality = f"{row['P@1']:.1f} / {row['P@5']:.1f} / {row['PSP@5']:.1f}"
    return f"{quality}, {row['train_s']:.2g} s, {row['model_mb']:.3g} MB, {row['single_ms']:.2f} ms"


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
