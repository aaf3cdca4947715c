"""Every method's scores are probabilities; the order of the labels is the method's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.contract import QUICK, known
from zipfel.classifier import Zipfel
from zipfel.methods import method_names


@pytest.mark.parametrize("name", [name for name in method_names() if name in {"auto", "knn", "ova", "popular", "glas"}])
def test_scores_are_probabilities_and_the_order_is_the_methods(name: str, tmp_path: Path) -> None:
    data = known()
    Y = data.train.Y.toarray()
    model = Zipfel(name, weighting="l2", threads=1, **QUICK.get(name, {})).fit(data.train.X, Y)
    ranking = model.predict(data.test.X, k=5)
    scores = ranking.scores[ranking.labels >= 0]
    assert 0 <= scores.min() <= scores.max() <= 1
    raw = model.method_.predict(model.rows_.transform(data.test.X), 5)
    np.testing.assert_array_equal(ranking.labels, raw.labels)
    found = model.evaluate(data.test.X, data.test.Y.toarray(), ks=(1,))
    assert found["ECE@1"] < 0.35
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(Zipfel.load(tmp_path / "m").predict(data.test.X, k=5).scores, ranking.scores)


def test_documents_without_features_have_the_shares_of_the_labels() -> None:
    data = known()
    model = Zipfel("knn", weighting="l2").fit(data.train.X, data.train.Y.toarray())
    found = model.predict(data.test.X[:1] * 0, k=2)
    counts = data.train.label_counts() if hasattr(data.train, "label_counts") else np.bincount(data.train.Y.indices)
    np.testing.assert_allclose(found.scores[0], np.sort(counts / 120)[::-1][:2], rtol=1e-5)
