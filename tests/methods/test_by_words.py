"""What the words say beside LightDXML's network: who is a neighbour, what is kept, what a file may hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.contract import known
from zipfel.errors import ModelFileError
from zipfel.methods.base import State
from zipfel.methods.by_words import Learnt, Words, learn_words
from zipfel.methods.glas_config import GlasConfig
from zipfel.run import Run


def _learnt(**params: object) -> Learnt:
    data = known()
    settings = GlasConfig.from_dict({"neighbors": 5, **params})
    return learn_words(settings, data.train.joined(data.valid), data.train.n_points, Run(seed=1))


def test_held_out_points_ask_train_only_and_are_known_in_the_end() -> None:
    learnt, data = _learnt(), known()
    ids, cosines = learnt.near
    assert ids.shape == cosines.shape == (data.valid.n_points, 5)
    assert (ids < data.train.n_points).all()
    assert ((ids < 0) == (cosines == 0)).all()
    assert learnt.final.memory is not None
    assert len(learnt.final.memory) == data.train.n_points + data.valid.n_points
    assert learnt.first.ranker is not learnt.final.ranker


def test_a_margin_of_no_label_is_a_plain_no() -> None:
    words = _learnt().final
    rows = words.damped(known().test.X)
    margins = words.margins(rows, np.tile([0, -1], (rows.shape[0], 1)))
    assert (margins[:, 1] == -1).all()
    assert np.isfinite(margins).all()


def test_known_neighbours_vote_as_those_that_are_searched() -> None:
    words, data = _learnt().final, known()
    rows = words.damped(data.test.X)
    assert words.memory is not None
    searched, given = words.vote(rows, 4), words.vote(rows, 4, words.memory.search(rows, 5))
    for one, other in zip(searched, given, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(("params", "kept"), [({"votes": False}, {"ranker"}), ({"sparse": False}, {"memory"})])
def test_only_what_is_asked_later_is_kept(params: dict[str, object], kept: set[str]) -> None:
    words, data = _learnt(**params).final, known()
    arrays = words.state()
    assert {name.partition(".")[0] for name in arrays} - {"edges", "labels"} == kept
    again = Words.restored(words.settings, State(arrays), data.train.n_features, data.train.n_labels)
    assert (again.memory is None, again.ranker is None) == (words.memory is None, words.ranker is None)


def test_damaged_ballots_are_an_error() -> None:
    words, data = _learnt().final, known()
    for name, wrong in (("labels", words.Y.indices + 1000), ("edges", words.Y.indptr[::-1].copy())):
        arrays = {**words.state(), name: wrong}
        with pytest.raises(ModelFileError, match="damaged"):
            Words.restored(words.settings, State(arrays), data.train.n_features, data.train.n_labels)
    empty = replace(words, memory=None).state()
    with pytest.raises(ModelFileError, match="edges"):
        Words.restored(words.settings, State(empty), data.train.n_features, data.train.n_labels)
