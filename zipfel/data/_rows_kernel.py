"""The hot loop of reading: bytes of "l1,l2 f:v f:v" lines to arrays. `parse_line` in sparse_rows is its plain twin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

# Only `parse_rows` is cached on disk: it holds the small functions.

OK, BAD, HARD = 0, 1, 2

_NEWLINE, _SPACE, _TAB, _RETURN, _HASH = 10, 32, 9, 13, 35
_PLUS, _COMMA, _MINUS, _POINT, _ZERO, _NINE, _COLON = 43, 44, 45, 46, 48, 57, 58
_E, _SMALL_E = 69, 101
_ID_DIGITS, _TOO_BIG = 12, 1 << 40
_FLOAT32_END = 3.4028235677973366e38  # the first float64 that rounds to an infinite float32
_EXACT = 1 << 53
_TENS = np.array([10.0**i for i in range(23)])  # the powers of ten that float64 holds exactly


@njit(nogil=True)
def whole(buf: npt.NDArray[np.uint8], pos: int) -> tuple[int, int]:
    """(value, position behind it) of a run of digits; the position stays where there is none."""
    value, start = 0, pos
    while _ZERO <= buf[pos] <= _NINE:
        value = value * 10 + (np.int64(buf[pos]) - _ZERO)
        pos += 1
    return (value if pos - start <= _ID_DIGITS else _TOO_BIG), pos


@njit(nogil=True)
def number(buf: npt.NDArray[np.uint8], pos: int) -> tuple[float, int, int]:
    """(value, position behind it, OK | BAD | HARD) of a decimal number, equal to float32(float(text)).

    With up to 15 digits and a power of ten up to 22 one float64 operation is exact (Clinger 1990); with up to 18 digits
    the result is off by less than 4 units, which matters only beside a midpoint of two float32. What is left is HARD
    and for Python's own float().
    """
    negative = buf[pos] == _MINUS
    pos += negative or buf[pos] == _PLUS
    mantissa, exponent, first, point = 0, 0, pos, 0
    while buf[pos] == _ZERO:
        pos += 1
    start = pos
    while _ZERO <= buf[pos] <= _NINE:
        mantissa = mantissa * 10 + (np.int64(buf[pos]) - _ZERO)
        pos += 1
    digits = pos - start
    if buf[pos] == _POINT:
        pos, point = pos + 1, 1
        exponent = pos
        while digits == 0 and buf[pos] == _ZERO:
            pos += 1
        start = pos
        while _ZERO <= buf[pos] <= _NINE:
            mantissa = mantissa * 10 + (np.int64(buf[pos]) - _ZERO)
            pos += 1
        digits, exponent = digits + pos - start, exponent - pos
    if pos - first - point == 0:
        return 0.0, pos, BAD
    if buf[pos] == _E or buf[pos] == _SMALL_E:
        down = buf[pos + 1] == _MINUS
        pos += 2 if down or buf[pos + 1] == _PLUS else 1
        power, after = whole(buf, pos)
        if after == pos:
            return 0.0, pos, BAD
        exponent, pos = exponent - power if down else exponent + power, after
    if digits == 0:
        return 0.0, pos, OK
    if digits > 18 or exponent < -22 or exponent > 22:
        return 0.0, pos, HARD
    value = mantissa / _TENS[-exponent] if exponent < 0 else mantissa * _TENS[exponent]
    if mantissa > _EXACT and np.float32(value * (1 + 5e-16)) != np.float32(value * (1 - 5e-16)):
        return 0.0, pos, HARD
    return (-value if negative else value), pos, OK if value < _FLOAT32_END else BAD


@njit(nogil=True)
def label_list(
    buf: npt.NDArray[np.uint8], pos: int, n_labels: int, labels: npt.NDArray[np.int32], nl: int
) -> tuple[int, int, bool, bool]:
    """(labels so far, position behind, whether it is sound, whether it is sorted) of "l1,l2" at the start of a row."""
    first, tidy = nl, True
    label, after = whole(buf, pos)
    while buf[after] != _COLON:  # otherwise the row begins with a feature and has no labels
        if after == pos or label >= n_labels:
            return nl, pos, False, tidy
        tidy = tidy and (nl == first or labels[nl - 1] < label)
        labels[nl] = label
        nl, pos = nl + 1, after
        if buf[pos] != _COMMA:
            break
        pos += 1
        label, after = whole(buf, pos)
    return nl, pos, nl == first or buf[pos] <= _SPACE, tidy


@njit(cache=True, nogil=True)
def parse_rows(
    buf: npt.NDArray[np.uint8],
    has_labels: bool,
    headless: bool,
    n_features: int,
    n_labels: int,
    row_features: npt.NDArray[np.int32],
    row_labels: npt.NDArray[np.int32],
    columns: npt.NDArray[np.int32],
    values: npt.NDArray[np.float32],
    labels: npt.NDArray[np.int32],
    hard: npt.NDArray[np.int64],
) -> tuple[int, int, int, int, int, bool]:
    """(rows, features, labels, hard values, position of the first fault or -1, whether all rows are sorted).

    `buf` ends in a newline, and every loop below stops at one. hard: (position in buf, place in values) pairs.
    headless (svmlight): '#' begins a comment, and empty lines are no rows.
    """
    pos, end, rows, nf, nl, nh, tidy = np.int64(0), len(buf), 0, 0, 0, 0, True
    while pos < end:
        start, first_f, first_l = pos, nf, nl
        if has_labels and _ZERO <= buf[pos] <= _NINE:
            nl, pos, sound, in_order = label_list(buf, pos, n_labels, labels, nl)
            tidy = tidy and in_order
            if not sound:
                return rows, nf, nl, nh, pos, tidy
        while buf[pos] != _NEWLINE:
            if buf[pos] == _SPACE or buf[pos] == _TAB or buf[pos] == _RETURN:
                pos += 1
                continue
            if headless and buf[pos] == _HASH:
                while buf[pos] != _NEWLINE:
                    pos += 1
                break
            column, after = whole(buf, pos)
            if after == pos or buf[after] != _COLON or column >= n_features:
                return rows, nf, nl, nh, pos, tidy
            value, behind, state = number(buf, after + 1)
            if state == BAD or buf[behind] > _SPACE:
                return rows, nf, nl, nh, pos, tidy
            if state == HARD:
                hard[2 * nh], hard[2 * nh + 1] = after + 1, nf
                nh += 1
            if value != 0.0 or state == HARD:
                tidy = tidy and (nf == first_f or columns[nf - 1] < column)
                columns[nf], values[nf] = column, value
                nf += 1
            pos = behind
        pos += 1
        length = pos - start - 1
        if headless and (length == 0 or buf[start] == _HASH or (length == 1 and buf[start] == _RETURN)):
            continue
        row_features[rows], row_labels[rows] = nf - first_f, nl - first_l
        rows += 1
    return rows, nf, nl, nh, -1, tidy
