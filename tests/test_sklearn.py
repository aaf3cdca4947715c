"""scikit-learn's conventions: clone, Pipeline, GridSearchCV, and the estimator checks that make sense here."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import estimator_checks_generator

from zipfel import Zipfel
from zipfel.errors import ParameterError
from zipfel.metrics import scorer

TEXTS = ["red bike wheel", "blue boat sail", "red boat paint", "bike chain oil", "sail of a boat", "oil paint"] * 4
Y = sp.csr_matrix(
    np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1]] * 4, dtype=float)
)
NAMES = [[f"label {i}" for i in row] for row in np.split(Y.indices, Y.indptr[1:-1])]

# The checks that can't hold, and why. Everything else of scikit-learn's suite must pass.
NOT_FOR_US = {
    "check_estimator_sparse_array": "wants one answer a row; predict returns a Ranking of k labels a row",
    "check_estimator_sparse_matrix": "wants one answer a row; predict returns a Ranking of k labels a row",
    "check_estimators_unfitted": "zipfel has a NotFittedError of its own: it does not depend on scikit-learn",
}

NEEDS_PARTIAL_FIT = {"check_fit_score_takes_y", "check_n_features_in_after_fitting"}
"""They call partial_fit after fit, which centroid refuses and knn takes."""


def test_clone_keeps_parameters_and_forgets_what_was_learned() -> None:
    model = Zipfel("knn", n_neighbors=4, seed=3).fit(TEXTS, Y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "method_")


def test_pipeline() -> None:
    pipe = Pipeline([("words", TfidfVectorizer()), ("tags", Zipfel("knn", weighting="none"))]).fit(TEXTS, Y)
    assert pipe.predict(["a boat with a sail"]).labels[0, 0] == 1
    assert pipe.score(TEXTS, Y) > 0.9


def test_grid_search_with_precision_at_k() -> None:
    def p_at_3(model: Zipfel, X: list[str], y: sp.csr_matrix) -> float:
        return model.evaluate(X, y, ks=(3,))["P@3"]

    search = GridSearchCV(Zipfel("knn"), {"n_neighbors": [1, 3]}, scoring=p_at_3, cv=2).fit(TEXTS, Y)
    assert search.best_params_["n_neighbors"] in (1, 3)
    assert search.best_score_ > 0.3


def test_inherits_from_base_estimator_once_scikit_learn_is_there() -> None:
    model = Zipfel("knn")
    assert isinstance(model, BaseEstimator)
    assert "<div" in estimator_html_repr(model)
    code = (
        "import sys; from zipfel import Zipfel; model = Zipfel('knn'); assert 'sklearn' not in sys.modules\n"
        "from sklearn.base import BaseEstimator, clone; assert isinstance(clone(model), BaseEstimator)\n"
        "assert isinstance(model, BaseEstimator); assert model.get_params()['method'] == 'knn'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_classes_and_decision_function() -> None:
    model = Zipfel("knn").fit(TEXTS, NAMES)
    assert model.classes_.tolist() == ["label 0", "label 1", "label 2", "label 3"]
    scores = model.decision_function(["a boat with a sail"])
    assert model.classes_[scores.toarray().argmax()] == "label 1"
    assert Zipfel("knn").fit(TEXTS, Y).classes_.tolist() == [0, 1, 2, 3]
    assert not hasattr(Zipfel("knn"), "classes_")


def test_scorers() -> None:
    found = cross_val_score(Zipfel("knn"), TEXTS, NAMES, scoring=scorer("P@1"), cv=2)
    assert found.min() > 0.9
    assert scorer("R@3")(Zipfel("knn").fit(TEXTS, Y), TEXTS, Y) > 0.9
    with pytest.raises(ParameterError, match="P@3"):
        scorer("f1")
    with pytest.raises(ParameterError, match=r"no metric 'Q@1'; there are P@1"):
        scorer("Q@1")(Zipfel("popular").fit(TEXTS, Y), TEXTS, Y)


@pytest.mark.parametrize("name", ["f1_micro", "accuracy", "precision_samples"])
def test_scikit_learns_own_scorers_say_what_to_use(name: str) -> None:
    with pytest.raises(ParameterError, match=r"zipfel\.metrics\.scorer"):
        get_scorer(name)(Zipfel("popular").fit(TEXTS, Y), TEXTS, Y)


@pytest.mark.parametrize(("theirs", "ours"), [("random_state", "seed"), ("n_jobs", "threads")])
def test_parameters_under_their_usual_names_are_pointed_to_ours(theirs: str, ours: str) -> None:
    with pytest.raises(ParameterError, match=f"use {ours}=1"):
        Zipfel("knn", **{theirs: 1})
    with pytest.raises(ParameterError, match=f"use {ours}=1"):
        Zipfel("knn").set_params(**{theirs: 1})


def checks() -> list[object]:
    return list(estimator_checks_generator(Zipfel("centroid")))


@pytest.mark.parametrize("check", [pytest.param(c, id=getattr(c[1], "func", c[1]).__name__) for c in checks()])
def test_scikit_learns_own_checks(check) -> None:  # type: ignore[no-untyped-def]
    estimator, run = check
    name = getattr(run, "func", run).__name__
    if name in NOT_FOR_US:
        pytest.skip(NOT_FOR_US[name])
    run(Zipfel("knn") if name in NEEDS_PARTIAL_FIT else estimator)
