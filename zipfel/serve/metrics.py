"""Counters, gauges and histograms in Prometheus' text format."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

Values = tuple[str, ...]


class Counter:
    """A number that only grows, for each combination of label values.

    >>> asked = Counter("asked_total", "Questions.", ["path"])
    >>> asked.add("/predict")
    >>> print(*asked.lines(), sep="\\n")
    # HELP asked_total Questions.
    # TYPE asked_total counter
    asked_total{path="/predict"} 1
    """

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name, self.text, self.labels = name, text, labels
        self.values: dict[Values, float] = {} if labels else {(): 0}

    def add(self, *values: str, amount: float = 1) -> None:
        self.values[values] = self.values.get(values, 0) + amount

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.text, "counter")
        for values, number in sorted(self.values.items()):
            yield f"{self.name}{_braces(self.labels, values)} {_number(number)}"


class Gauge:
    """A number that is read when it is asked for, for each value of at most one label."""

    def __init__(self, name: str, text: str, read: Callable[[], dict[str, float]], label: str = "") -> None:
        self.name, self.text, self.read, self.label = name, text, read, label

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.text, "gauge")
        for value, number in sorted(self.read().items()):
            yield f"{self.name}{_braces([self.label] if self.label else [], (value,))} {_number(number)}"


class Histogram:
    """How often values fell below each bound, for each combination of label values."""

    def __init__(self, name: str, text: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        self.name, self.text, self.bounds, self.labels = name, text, bounds, labels
        self._counts: dict[Values, list[int]] = {}
        self._sums: dict[Values, float] = {}

    def observe(self, value: float, *values: str) -> None:
        counts = self._counts.setdefault(values, [0] * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, value)] += 1
        self._sums[values] = self._sums.get(values, 0.0) + value

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.text, "histogram")
        for values, counts in sorted(self._counts.items()):
            total = 0
            for bound, count in zip([*map(_number, self.bounds), "+Inf"], counts, strict=True):
                total += count
                yield f"{self.name}_bucket{_braces([*self.labels, 'le'], (*values, bound))} {total}"
            yield f"{self.name}_sum{_braces(self.labels, values)} {self._sums[values]:.6f}"
            yield f"{self.name}_count{_braces(self.labels, values)} {total}"


class Metrics:
    """What `/metrics` tells of one service."""

    def __init__(self) -> None:
        self.requests = Counter("zipfel_requests_total", "Requests by route and status.", ["route", "status"])
        self.errors = Counter("zipfel_errors_total", "Requests that failed through a fault of the service.")
        self.texts = Counter("zipfel_texts_total", "Documents that were predicted.", ["model"])
        self.learned = Counter("zipfel_learned_total", "Documents that were learned.", ["model"])
        self.reloads = Counter("zipfel_reloads_total", "Reloads of a model folder.", ["model", "outcome"])
        self.request_seconds = Histogram("zipfel_request_seconds", "From the request to its answer.", SECONDS)
        self.queue_seconds = Histogram("zipfel_queue_seconds", "Wait until a batch began.", SECONDS, ["model"])
        self.inference_seconds = Histogram("zipfel_inference_seconds", "Time of one batch.", SECONDS, ["model"])
        self.batch_texts = Histogram("zipfel_batch_texts", "Documents in one batch.", SIZES, ["model"])
        self.gauges: list[Gauge] = []

    def text(self) -> str:
        families = [*(value for name, value in vars(self).items() if name != "gauges"), *self.gauges]
        return "\n".join(line for family in families for line in family.lines()) + "\n"


def _head(name: str, text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _braces(labels: Sequence[str], values: Values) -> str:
    pairs = (f'{label}="{_escaped(value)}"' for label, value in zip(labels, values, strict=False))
    return f"{{{','.join(pairs)}}}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
