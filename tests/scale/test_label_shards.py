"""Label shards: each worker scores its own labels, and the merged ranking is that of one process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zipfel import Zipfel
from zipfel.data import Dataset, synth
from zipfel.executor import current_label_shards, use_label_shards
from zipfel.linear import LinearClassifiers
from zipfel.scale.cluster import ray_cluster
from zipfel.scale.label_shards import Cut, RayLabelShards, predict_by_label_shards

pytest.importorskip("ray")


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with ray_cluster(2) as found:
        yield found


@pytest.fixture(scope="module")
def data() -> Dataset:
    return synth(2000, 800, 150, features_per_point=12, labels_per_point=2)


@pytest.fixture(scope="module")
def model(data: Dataset) -> Zipfel:
    return Zipfel("ova", threads=1).fit(data)


def test_auto_s_classifiers_are_cut_too(ray: Any, data: Dataset) -> None:
    model = Zipfel("auto", preset="quick", threads=1).fit(data)
    alone, shards = model.predict(data, 5), RayLabelShards(ray, 2, worth=0)
    with use_label_shards(shards):
        assert np.allclose(model.predict(data, 5).scores, alone.scores, atol=1e-5)
    assert shards._shards


def test_a_parcel_has_a_shard_s_labels_and_goes_back_to_their_places() -> None:
    cut = Cut.into(np.array([5, 0, 5, 0, 0]))
    assert cut.cluster.tolist() == [1, 0, 1, 0, 0]
    assert cut.place.tolist() == [0, 0, 1, 1, 2]
    labels = np.array([[4, 2, 1], [0, -1, 2], [-1, 3, 0]])
    first, second = (cut.parcel(i, labels) for i in range(2))
    assert first.rows.tolist() == [0, 2]
    assert (first.counts.tolist(), first.places.tolist()) == ([2, 1], [2, 0, 1])
    assert (second.counts.tolist(), second.places.tolist()) == ([1, 2, 1], [1, 0, 1, 0])
    out = np.full(labels.shape, -np.inf, dtype=np.float32)
    first.unpack(np.array([4, 1, 3], dtype=np.float32), out)
    second.unpack(np.array([2, 0, 2, 0], dtype=np.float32), out)
    assert np.array_equal(out, np.where(labels < 0, -np.inf, labels))


def test_shards_share_weights_and_candidates(model: Zipfel, data: Dataset) -> None:
    classifiers: LinearClassifiers = model.method_.classifiers_  # type: ignore[attr-defined]
    asked = model.predict(data, 20).labels
    cut = Cut.of(classifiers, 4, asked)
    n_weights, n_asked = np.diff(classifiers.ends), np.bincount(asked[asked >= 0], minlength=150)
    work = n_weights / n_weights.sum() + n_asked / n_asked.sum()
    assert np.allclose(np.bincount(cut.cluster, work), 0.5, atol=0.05)


def test_merged_rankings_are_those_of_one_process(ray: Any, model: Zipfel, data: Dataset, tmp_path: Path) -> None:
    alone = model.predict(data, 5)
    shards = RayLabelShards(ray, 3, worth=0)
    with use_label_shards(shards):
        merged = model.predict(data, 5)
    assert current_label_shards() is None
    assert np.allclose(merged.scores, alone.scores, atol=1e-5)
    assert (merged.labels == alone.labels).mean() > 0.999
    model.save(tmp_path / "model")
    ((name, found), (_, none)) = predict_by_label_shards(
        tmp_path / "model", [("all", data), ("none", data.take(np.arange(0)))], 5, workers=2
    )
    assert name == "all"
    assert none is None
    assert found is not None
    assert np.allclose(found.scores, alone.scores, atol=1e-5)


@pytest.mark.slow
def test_a_shard_whose_worker_is_killed_is_set_up_again(ray: Any, model: Zipfel, data: Dataset) -> None:
    import psutil

    shards = RayLabelShards(ray, 2, worth=0)
    with use_label_shards(shards):
        before = model.predict(data, 5)
        workers = [p for p in psutil.Process().children(recursive=True) if p.name().startswith("ray::ShardWorker")]
        assert len(workers) >= 2
        os.kill(workers[0].pid, signal.SIGKILL)
        time.sleep(0.1)
        after = model.predict(data, 5)
    assert after.scores.tobytes() == before.scores.tobytes()


def test_few_weights_stay_here(model: Zipfel, data: Dataset) -> None:
    shards = RayLabelShards(None, 2, worth=10**9)
    with use_label_shards(shards):
        assert model.predict(data, 3).scores.tobytes() == model.predict(data, 3).scores.tobytes()


def test_a_shard_holds_its_labels_alone(model: Zipfel, data: Dataset) -> None:
    ranker: LinearClassifiers = model.method_.classifiers_  # type: ignore[attr-defined]
    own = np.r_[40:60, 130, 3:30]
    part = LinearClassifiers.restored(ranker.of_labels(own), ranker.weights_.shape[1], len(own), ranker.config)
    assert (part.weights_ != ranker.weights_[own]).nnz == 0
    rows = model.rows_.transform(data.take(np.arange(5)))
    labels = np.tile(np.arange(40, 60), (5, 1))
    assert np.array_equal(part.score_here(rows, labels - 40), ranker.score(rows, labels))
