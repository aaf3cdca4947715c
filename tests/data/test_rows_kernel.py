"""The byte kernel against Python's float and against its plain twin."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from zipfel.data._rows_kernel import BAD, HARD, OK, number
from zipfel.data.plain_rows import MAX_FLOAT32, Layout, parse_line
from zipfel.data.sparse_rows import read_rows
from zipfel.data.streams import Stream
from zipfel.errors import DataError

DIGITS = st.text("0123456789", max_size=25)
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.builds(
        lambda sign, a, b, e: f"{sign}{a}.{b}{e}",
        st.sampled_from(["", "-", "+"]),
        DIGITS.filter(bool),
        DIGITS,
        st.one_of(st.just(""), st.integers(-50, 50).map("e{}".format), st.integers(0, 40).map("E+{}".format)),
    ),
)


@settings(max_examples=300, deadline=None)
@given(NUMBERS)
@example("16777217")  # half way between two float32
@example("16777217.0000000000000001")
@example("1e-45")
@example("3.4028235e38")
@example("3.4028236e38")
@example(".5")
@example("5.")
@example("0.000000000000000000000000001")
@example("00000000000000000000000001.5")
def test_numbers_equal_float32_of_python_float(text: str) -> None:
    expected = float(text)
    value, end, state = number(np.frombuffer((text + "\n").encode(), dtype=np.uint8), 0)
    if abs(expected) >= MAX_FLOAT32:
        assert state in (BAD, HARD)
        return
    assert state in (OK, HARD)
    assert end == len(text)
    if state == OK:
        assert np.float32(value) == np.float32(expected)


def test_few_numbers_are_hard() -> None:
    """What TF-IDF files hold must take the quick way."""
    rng = np.random.default_rng(0)
    texts = [repr(float(v)) for v in rng.random(2000)] + [f"{v:.6g}" for v in rng.random(2000)]
    states = [number(np.frombuffer((text + "\n").encode(), dtype=np.uint8), 0)[2] for text in texts]
    assert states.count(HARD) <= 2


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "1e", "1e+", "nan", "inf", "x", "--1"])
def test_what_is_no_number_is_bad(text: str) -> None:
    assert number(np.frombuffer((text + "\n").encode(), dtype=np.uint8), 0)[2] == BAD


WORDS = st.one_of(
    st.builds("{}:{}".format, st.integers(0, 12), st.sampled_from(["1", "0", "0.25", "-2e3", "1e30", "x", "", "nan"])),
    st.sampled_from(["1", "7:1:1", ":", ",", "#", "3,4", "\t", "1:1e39", "1:12345678901234567890123"]),
)
LINES = st.builds(
    lambda head, words, gap: head + gap.join(["", *words]),
    st.sampled_from(["", "0", "1,0,1", "2,", "9", "x", "1:1", "1,2:3", " ", "\r"]),
    st.lists(WORDS, max_size=4),
    st.sampled_from([" ", "  ", "\t"]),
)


@settings(max_examples=300, deadline=None)
@given(LINES, st.booleans(), st.booleans())
def test_kernel_equals_its_plain_twin(line: str, has_labels: bool, headless: bool) -> None:
    layout = Layout(has_labels=has_labels, headless=headless, n_features=10, n_labels=5)
    try:
        expected = parse_line(line, layout)
    except ValueError:
        with pytest.raises(DataError, match="text:1: ") as caught:
            read_rows(Stream(io.BytesIO(line.encode() + b"\n"), "text"), layout, 1)
        assert "cannot be read" not in str(caught.value)
        return
    rows = read_rows(Stream(io.BytesIO(line.encode() + b"\n"), "text"), layout, 1)
    X, Y = rows.X.finish(10), rows.Y.finish(5)
    if expected is None:
        assert X.shape[0] == 0
        return
    labels, features = expected
    assert Y.indices.tolist() == labels
    assert X.indices.tolist() == list(features)
    # The twin adds up duplicates in float64.
    np.testing.assert_allclose(X.data, np.array(list(features.values()), dtype=np.float32), rtol=3e-7)
