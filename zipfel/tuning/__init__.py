"""Search for a method's best settings on a split of the training data."""

from __future__ import annotations

from zipfel.tuning.presets import Settings, read_settings, write_settings
from zipfel.tuning.search import Tuned, tune

__all__ = ["Settings", "Tuned", "read_settings", "tune", "write_settings"]
