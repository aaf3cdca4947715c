"""What scikit-learn expects of an estimator: parameters, tags, classes, and its base class where it is loaded."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import NotFittedError, ParameterError, nearest
from zipfel.methods import method_class, method_names

Self = TypeVar("Self", bound="Conventions")

OTHER_NAMES = {"random_state": "seed", "random_seed": "seed", "n_jobs": "threads", "num_threads": "threads"}
"""What other libraries call parameters of ours."""


class Conventions:
    """`get_params`, `set_params`, and what else scikit-learn's tools ask an estimator for.

    scikit-learn is never imported here. Where a program has imported it, estimators inherit from its `BaseEstimator`.
    """

    _params: dict[str, Any]
    label_names_: list[str] | None
    n_labels_: int

    @classmethod
    def _join_scikit_learn(cls) -> None:
        """Zipfel inherits from BaseEstimator from now on, if scikit-learn is loaded; loading it would take a second."""
        base = getattr(sys.modules.get("sklearn.base"), "BaseEstimator", None)
        if base is not None and not issubclass(cls, base):
            first = next(c for c in cls.__mro__ if Conventions in c.__bases__)
            first.__bases__ = (*first.__bases__, base)

    @classmethod
    def _own_names(cls) -> list[str]:
        found = inspect.signature(cls.__init__).parameters.values()
        return [p.name for p in found if p.name != "self" and p.kind is not inspect.Parameter.VAR_KEYWORD]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's signature
        """All parameters by name: the estimator's own, and those given for its method.

        deep: without effect; scikit-learn's signature has it.

        >>> from zipfel import Zipfel
        >>> Zipfel("knn", n_neighbors=20).get_params()["n_neighbors"]
        20
        """
        return {**{name: getattr(self, name) for name in self._own_names()}, **self._params}

    def set_params(self: Self, **params: Any) -> Self:
        """Sets parameters by name. An unknown name is a `ParameterError` that suggests the nearest one.

        params: names and values, as in `Zipfel(...)`.

        >>> from zipfel import Zipfel
        >>> Zipfel("knn").set_params(n_neighbors=20, seed=1).seed
        1
        """
        own = set(self._own_names())
        refuse_other_names(params, own)
        for name, value in params.items():
            if name in own:
                setattr(self, name, value)
            else:
                self._params = {**self._params, name: value}
        method = getattr(self, "method", None)
        if isinstance(method, str) and method in method_names():
            known = [p.name for p in method_class(method).Config.parameters()]
            for name in set(self._params) - set(known):
                raise ParameterError(f"method {method!r} has no parameter {name!r}{nearest(name, known)}")
        return self

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """(n_labels,) the labels in the order of `decision_function`'s columns: names, or numbers if there are none.

        >>> from zipfel import Zipfel
        >>> Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]]).classes_.tolist()
        ['bike', 'boat']
        """
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this Zipfel is not fitted yet, so it has no classes_: call fit first")
        if self.label_names_ is None:
            return np.arange(self.n_labels_)
        return np.array(self.label_names_, dtype=object)

    def decision_function(self, X: Any) -> sp.csr_matrix:
        """The scores of the 100 best labels of each document, sparse (n, n_labels), under scikit-learn's name.

        >>> from zipfel import Zipfel
        >>> Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]]).decision_function(["bike"]).shape
        (1, 2)
        """
        scores: sp.csr_matrix = self.predict_scores(X)  # type: ignore[attr-defined]
        return scores

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True, multi_output=True, single_output=False),
            input_tags=InputTags(sparse=True, string=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "method_")

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.get_params().items() if value is not None}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def refuse_other_names(params: Mapping[str, Any], own: set[str]) -> None:
    """A parameter under the name that it has in other libraries is refused with the name that it has here."""
    for name in params:
        if name in OTHER_NAMES and name not in own:
            raise ParameterError(f"Zipfel has no parameter {name!r}: use {OTHER_NAMES[name]}={params[name]!r}")
