"""Figures as inline SVG: no library, no network, readable in light and dark. Values go in, a string comes out."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 460, 260, 52, 40, 14


@dataclass(frozen=True)
class Bars:
    """One group of bars for each name; one bar in each group for each series."""

    names: Sequence[str]
    series: Sequence[tuple[str, Sequence[float]]]


def bar_chart(bars: Bars, title: str, unit: str = "%") -> str:
    """Grouped bars, the value above each.

    >>> bar_chart(Bars(["head"], [("P@1", [50.0])]), "P@1")[:4]
    '<svg'
    """
    top = _nice(max((value for _, values in bars.series for value in values), default=1.0))
    inner = _WIDTH - _LEFT - 10
    step = inner / max(1, len(bars.names))
    thick = min(36.0, 0.8 * step / max(1, len(bars.series)))
    body = [_y_axis(top, unit)]
    for i, name in enumerate(bars.names):
        middle = _LEFT + (i + 0.5) * step
        body.append(_text(middle, _HEIGHT - _BOTTOM + 16, name, "middle"))
        for j, (label, values) in enumerate(bars.series):
            x = middle + (j - len(bars.series) / 2) * thick
            y = _y(values[i], top)
            told = html.escape(f"{name}, {label}: {values[i]:.1f}{unit}")
            body.append(
                f'<rect class="s{j}" x="{x:.1f}" y="{y:.1f}" width="{thick - 2:.1f}" '
                f'height="{max(0.0, _HEIGHT - _BOTTOM - y):.1f}"><title>{told}</title></rect>'
            )
            body.append(_text(x + thick / 2 - 1, y - 3, f"{values[i]:.0f}", "middle", "value"))
    return _svg(body, title) + _legend([name for name, _ in bars.series])


def reliability_diagram(mean: Sequence[float], share: Sequence[float], sizes: Sequence[int], title: str) -> str:
    """Mean probability of each bin against the share of its labels that are true; a dot's area follows the bin's size.

    A calibrated model lies on the diagonal.
    """
    body = [_y_axis(1.0, "", steps=5), _x_axis(1.0, steps=5)]
    body.append(_line([(0.0, 0.0), (1.0, 1.0)], 1.0, 1.0, "diagonal"))
    body.append(_line(list(zip(mean, share, strict=True)), 1.0, 1.0, "s0"))
    largest = max([1, *sizes])
    for x, y, size in zip(mean, share, sizes, strict=True):
        told = html.escape(f"mean probability {x:.2f}, true {y:.2f}, {size:,} labels")
        radius = 2 + 7 * math.sqrt(size / largest)
        body.append(
            f'<circle class="s0" cx="{_x(x, 1.0):.1f}" cy="{_y(y, 1.0):.1f}" r="{radius:.1f}">'
            f"<title>{told}</title></circle>"
        )
    body.append(_text(_WIDTH / 2, _HEIGHT - 4, "mean probability", "middle"))
    return _svg(body, title)


def curve(values: Sequence[tuple[float, float]], title: str, x_name: str, y_name: str) -> str:
    """Points on logarithmic axes, joined by a line: label frequency by rank, for example."""
    points = [(math.log10(x), math.log10(y)) for x, y in values if x > 0 and y > 0]
    if not points:
        return ""
    right = max(1.0, math.ceil(max(x for x, _ in points)))
    top = max(1.0, math.ceil(max(y for _, y in points)))
    ticks = [
        _text(_x(i, right), _HEIGHT - _BOTTOM + 16, f"{10**i:,}", "end" if i == right else "middle")
        for i in range(int(right) + 1)
    ]
    body = [_line(points, right, top, "s0"), *ticks]
    for i in range(int(top) + 1):
        body.append(_text(_LEFT - 6, _y(i, top) + 4, f"{10**i:,}", "end"))
        body.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{_y(i, top):.1f}" y2="{_y(i, top):.1f}"/>')
    body.append(_text(_WIDTH / 2, _HEIGHT - 4, x_name, "middle"))
    body.append(_text(_WIDTH - 10, _TOP + 10, y_name, "end"))
    return _svg(body, title)


def _svg(body: Sequence[str], title: str) -> str:
    name = html.escape(title, quote=True)
    inside = "\n".join(body)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{name}">\n<title>{name}</title>{inside}\n</svg>'
    )


_STYLE = (
    "svg{background:#fff}svg text{font:12px system-ui,sans-serif;fill:#1c1e21}.grid{stroke:#d0d4da}"
    ".line{fill:none;stroke:#1f6feb;stroke-width:2}.line.diagonal{stroke:#888;stroke-dasharray:4 4}"
    "circle,rect{fill:#1f6feb}"
)


def alone(svg: str) -> str:
    """A figure as a file of its own, with its style.

    >>> alone(bar_chart(Bars([], []), "nothing")).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """
    start, end = svg.split(">", 1)
    return f'{start.replace("<svg", _SVG, 1)} width="{_WIDTH}" height="{_HEIGHT}"><style>{_STYLE}</style>{end}\n'


_SVG = '<svg xmlns="http://www.w3.org/2000/svg"'


def _legend(names: Sequence[str]) -> str:
    if len(names) < 2:
        return ""
    items = "".join(f'<span><i class="s{j}"></i>{html.escape(name)}</span>' for j, name in enumerate(names))
    return f'<p class="legend">{items}</p>'


def _y_axis(top: float, unit: str, steps: int = 4) -> str:
    lines = []
    for i in range(steps + 1):
        value = top * i / steps
        y = _y(value, top)
        lines.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(_text(_LEFT - 6, y + 4, f"{value:g}{unit}", "end"))
    return "".join(lines)


def _x_axis(right: float, steps: int) -> str:
    values = [right * i / steps for i in range(steps + 1)]
    return "".join(_text(_x(value, right), _HEIGHT - _BOTTOM + 16, f"{value:g}", "middle") for value in values)


def _line(points: Sequence[tuple[float, float]], right: float, top: float, kind: str) -> str:
    path = " ".join(f"{_x(x, right):.1f},{_y(y, top):.1f}" for x, y in points)
    return f'<polyline class="line {kind}" points="{path}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _x(value: float, right: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - 10) * value / right


def _y(value: float, top: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value / top)


def _nice(value: float) -> float:
    """The next number above that reads well on an axis."""
    if value <= 0:
        return 1.0
    size = float(10 ** math.floor(math.log10(value)))
    return next(step * size for step in (1, 2, 4, 5, 8, 10) if value <= step * size)
