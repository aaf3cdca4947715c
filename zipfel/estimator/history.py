"""What a model has learned from, and when: its history, and which documents it knows by their ids."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.data import Dataset
from zipfel.data.documents import RowNumber
from zipfel.errors import ModelFileError

Ids = npt.NDArray[np.uint64]
Event = dict[str, Any]
NO_IDS: Ids = np.zeros(0, dtype=np.uint64)
_MOST_EVENTS = 1000
_COUNTED = ("documents", "new_labels", "left_out")


def event(what: str, data: str = "", *, fingerprint: str = "", **counts: int) -> Event:
    """Something that was done to a model: fit, update, add, retire, rename or merge, with what it counted."""
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    told = {"what": what, "date": date, "data": data, "fingerprint": fingerprint, **counts}
    return {name: value for name, value in told.items() if value not in ("", 0)}


def remembered(training: dict[str, Any], new: Event) -> dict[str, Any]:
    """A model's `training_` with one more event. Small updates of one day, as by a service, become one event."""
    history = [dict(old) for old in training.get("history", ())]
    last = history[-1] if history else {}
    alike = all(last.get(name) == new.get(name) for name in ("what", "data", "fingerprint"))
    if alike and new["what"] == "update" and last["date"][:10] == new["date"][:10]:
        counts = {name: last.get(name, 0) + new.get(name, 0) for name in _COUNTED}
        history[-1] = {**new, **{name: n for name, n in counts.items() if n}}
    else:
        history.append(new)
    return {**training, "history": history[-_MOST_EVENTS:]}


def after_update(before: dict[str, Any], after: dict[str, Any], given: Any, new_labels: int) -> dict[str, Any]:
    """`training_` of a model that was given these documents, a Dataset or others, with the update in its history."""
    added = int(after["n_points"]) - int(before["n_points"])
    if not isinstance(given, Dataset):
        return remembered(after, event("update", documents=added, new_labels=new_labels)) if added else after
    left_out = len(given) - added
    if not len(given):
        return after
    fingerprint = "" if left_out else given.fingerprint()
    counts = {"documents": added, "new_labels": new_labels, "left_out": left_out}
    return remembered(after, event("update", given.name, fingerprint=fingerprint, **counts))


def hashes_of(ids: Sequence[str] | None) -> Ids:
    """(n,) a number for each id; 0 for a row without one. Empty where no row has an id.

    >>> hashes_of(None), len(set(hashes_of(["a", "b", "a"]).tolist()))
    (array([], dtype=uint64), 2)
    """
    if ids is None or all(isinstance(name, RowNumber) for name in ids):
        return NO_IDS
    return np.fromiter((_hash(name) for name in ids), dtype=np.uint64, count=len(ids))


def _hash(name: str) -> int:
    if isinstance(name, RowNumber):
        return 0
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def known_after(known: Ids, data: Dataset) -> Ids:
    """The ids of a model that has learned these documents, too, in rising order."""
    found = hashes_of(data.ids)
    return np.union1d(known, found[found != 0]) if len(found) else known


def new_documents(data: Dataset, known: Ids, training: dict[str, Any]) -> Dataset:
    """The documents that a model has not learned yet. Documents are compared by their ids; data without ids are
    compared as a whole, by contents. Of documents of one id the first counts."""
    found = hashes_of(data.ids)
    if len(found):
        first = np.zeros(len(found), dtype=bool)
        first[np.unique(found, return_index=True)[1]] = True
        new = (first & ~np.isin(found, known)) | (found == 0)
        return data if new.all() else data.take(np.flatnonzero(new))
    learned = {training.get("fingerprint"), *(old.get("fingerprint") for old in training.get("history", ()))}
    if data.n_points and data.fingerprint() in learned:
        return data.take(np.zeros(0, dtype=np.intp))
    return data


def checked_ids(array: npt.NDArray[Any] | None) -> Ids:
    """Of a model folder; none is there where the documents had none."""
    if array is None:
        return NO_IDS
    if array.dtype != np.uint64 or array.ndim != 1:
        raise ModelFileError("the model's document_ids must be one row of whole numbers")
    return array
