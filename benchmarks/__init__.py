"""Speed, as ratios to a named baseline in one run: `make bench`, or `python -m benchmarks.metrics` for one of them.

A benchmark is a module with `main()`, which prints what it saw and returns the bars that zipfel has set itself.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """A measured number and the limit it is held to."""

    name: str
    value: float
    limit: float
    at_least: bool = True  # else at most
    unit: str = "times"

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def cells(self) -> tuple[str, str, str, str]:
        """name, value, limit, verdict."""
        sign = ">=" if self.at_least else "<="
        verdict = "holds" if self.holds else "falls short"
        return self.name, f"{self.value:.2f} {self.unit}", f"{sign} {self.limit:g}", verdict
