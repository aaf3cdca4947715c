"""An estimator that changes in one step: who uses it meanwhile, in another thread, sees it before or after."""

from __future__ import annotations

from typing import TypeVar

from zipfel.errors import NotFittedError

Self = TypeVar("Self", bound="Snapshots")


class Snapshots:
    """What changes the estimator works on `_as_it_is()` and ends with `_become`; what reads it begins with `_fitted()`.

    Nothing that belongs to a fitted model is changed in place.
    """

    def _as_it_is(self: Self) -> Self:
        """An estimator of its own with all that this one has at the moment."""
        same: Self = object.__new__(type(self))
        same.__dict__ = vars(self).copy()
        return same

    def _become(self: Self, other: Self) -> Self:
        """Takes all that the other has."""
        self.__dict__ = vars(other)
        return self

    def _fitted(self: Self) -> Self:
        """`_as_it_is`, if it is fitted."""
        now = self._as_it_is()
        if not hasattr(now, "method_"):
            raise NotFittedError("this Zipfel is not fitted yet: call fit first, or Zipfel.load(folder)")
        return now
