import numpy as np

from zipfel.data.buckets import BUCKETS, HEAD, TAIL, TORSO, buckets


def test_edges_fall_where_the_definition_says() -> None:
    found = buckets(np.array([0, 1, 5, 6, 100, 101]))
    assert found.tolist() == [TAIL, TAIL, TAIL, TORSO, TORSO, HEAD]
    assert found.dtype == np.int8
    assert [BUCKETS[b] for b in (HEAD, TORSO, TAIL)] == ["head", "torso", "tail"]


def test_limits_can_be_moved() -> None:
    assert buckets(np.array([1, 2, 3]), head_above=2, tail_up_to=1).tolist() == [TAIL, TORSO, HEAD]


def test_no_labels() -> None:
    assert buckets(np.array([], dtype=np.int64)).shape == (0,)
