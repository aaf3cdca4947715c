"""One system a file; `registry` knows them by name."""

from zipfel.methods.base import Method, Points, State
from zipfel.methods.registry import make_method, method_class, method_names

__all__ = ["Method", "Points", "State", "make_method", "method_class", "method_names"]
