"""Figures as inline SVG: no library, no network, readable in light and dark. Values go in, a string comes out."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 460, 260, 52, 40, 14
_NAMES, _VALUES, _STEP, _LONGEST = 200, 90, 24, 31
"""Of horizontal bars: room for names at the left and values at the right, height of a row, characters of a name."""


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


@dataclass(frozen=True)
class Rows:
    """A horizontal bar for each name. errors: half of the whisker at a bar's end, or none of them."""

    names: Sequence[str]
    values: Sequence[float]
    errors: Sequence[float] = ()


def row_chart(rows: Rows, title: str, unit: str = "") -> str:
    """Horizontal bars with the value beside each; values may be negative. Nothing without rows.

    >>> "1.50 s" in row_chart(Rows(["reading"], [1.5]), "seconds", " s")
    True
    """
    if not rows.names:
        return ""
    errors = list(rows.errors) or [0.0] * len(rows.values)
    low = min(0.0, *(v - e for v, e in zip(rows.values, errors, strict=True)))
    high = max(0.0, *(v + e for v, e in zip(rows.values, errors, strict=True)))
    scale = (_WIDTH - _NAMES - _VALUES) / ((high - low) or 1.0)
    zero, body = _NAMES - low * scale, []
    for i, (name, value, error) in enumerate(zip(rows.names, rows.values, errors, strict=True)):
        y, end = _TOP + i * _STEP, zero + value * scale
        body.append(_text(_NAMES - 8, y + 13, name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…", "end"))
        body.append(
            f'<rect class="s0" x="{min(zero, end):.1f}" y="{y}" width="{abs(value) * scale:.1f}" height="{_STEP - 6}">'
            f"<title>{html.escape(f'{name}: {value:.2f}{unit}')}</title></rect>"
        )
        if error:
            left, right = end - error * scale, end + error * scale
            body.append(f'<path class="whisker" d="M{left:.1f} {y + 8.5}H{right:.1f}"/>')
        told = f"{value:.2f}{unit}" + (f" ± {error:.2f}" if error else "")
        body.append(_text(max(zero, end + error * scale) + 5, y + 13, told, "start"))
    return _svg(body, title, height=_TOP + _STEP * len(rows.names))


def line_chart(points: Sequence[tuple[float, float]], title: str, x_name: str) -> str:
    """A line through (x, y) with a dot at each, on linear axes that begin at the least values. Nothing without points.

    >>> line_chart([(1, 0.5), (2, 0.25)], "Loss", "epoch")[:4]
    '<svg'
    """
    if not points:
        return ""
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    low, high = _range(min(y for _, y in points), max(y for _, y in points))
    across, digits = (last - first) or 1.0, max(0, -math.floor(math.log10((high - low) / 4)))
    body = []
    for i in range(5):
        height = _y(i / 4, 1.0)
        body.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{height:.1f}" y2="{height:.1f}"/>')
        body.append(_text(_LEFT - 6, height + 4, f"{low + (high - low) * i / 4:.{digits}f}", "end"))
    ticks = sorted({round(first + (last - first) * i / 5) for i in range(6)})
    body += [_text(_x(tick - first, across), _HEIGHT - _BOTTOM + 16, f"{tick}", "middle") for tick in ticks]
    placed = [((x - first) / across, (y - low) / (high - low)) for x, y in points]
    body.append(_line(placed, 1.0, 1.0, "s0"))
    for (x, y), (right, up) in zip(points, placed, strict=True):
        at = f'cx="{_x(right, 1.0):.1f}" cy="{_y(up, 1.0):.1f}"'
        body.append(
            f'<circle class="s0" {at} r="2.5"><title>{html.escape(f"{x_name} {x:g}: {y:.4g}")}</title></circle>'
        )
    body.append(_text(_WIDTH / 2, _HEIGHT - 4, x_name, "middle"))
    return _svg(body, title)


def _range(low: float, high: float) -> tuple[float, float]:
    """Ends of an axis of four equal steps of a round length, with all values between them."""
    step = _nice(((high - low) or abs(high) or 1.0) / 4)
    while math.floor(low / step) + 4 < high / step:
        step = _nice(1.01 * step)
    start = math.floor(low / step) * step
    return start, start + 4 * step


def _svg(body: Sequence[str], title: str, height: int = _HEIGHT) -> str:
    name = html.escape(title, quote=True)
    inside = "\n".join(body)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{name}">\n<title>{name}</title>{inside}\n</svg>'
    )


_STYLE = (
    "svg{background:#fff}svg text{font:12px system-ui,sans-serif;fill:#1c1e21}.grid{stroke:#d0d4da}"
    ".line{fill:none;stroke:#1f6feb;stroke-width:2}.line.diagonal{stroke:#888;stroke-dasharray:4 4}"
    "circle,rect{fill:#1f6feb}.whisker{stroke:#1c1e21;fill:none}"
)


def alone(svg: str) -> str:
    """A figure as a file of its own, with its style.

    >>> alone(bar_chart(Bars([], []), "nothing")).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """
    start, end = svg.split(">", 1)
    height = start.split('viewBox="', 1)[1].split('"', 1)[0].split()[3]
    return f'{start.replace("<svg", _SVG, 1)} width="{_WIDTH}" height="{height}"><style>{_STYLE}</style>{end}\n'


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
