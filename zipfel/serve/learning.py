"""Documents learned while the model serves: added to a copy, logged on disk, swapped in, and saved a little later."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import accumulate, pairwise

from zipfel.classifier import Zipfel
from zipfel.errors import ZipfelError
from zipfel.estimator.saving import CONFIG
from zipfel.serve.errors import RequestError
from zipfel.serve.logs import log
from zipfel.serve.served import ServedModel, Snapshot
from zipfel.serve.update_log import LogTakenError, Record, UpdateLog, log_path

UPDATES = "updates"
"""Key of `Zipfel.training_`: the number of the last record that the model contains."""

Stamp = tuple[int, int] | None


def stamp_of(served: ServedModel) -> Stamp:
    """Changes whenever another model is saved in the folder."""
    try:
        found = (served.folder / CONFIG).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


class Learner:
    """Learns for one model. All methods are called in one thread, one after another.

    A request's documents are learned by a copy, then logged, then the copy is swapped in, then the request is answered.
    A document that fails before it is logged is not acknowledged. Logged documents are learned again after a restart.
    """

    def __init__(self, served: ServedModel) -> None:
        self.served = served
        self._log: UpdateLog | None = None
        self.unsaved = False

    def open(self) -> None:
        """Opens the log, and learns what it has and the model lacks."""
        try:
            self._log = UpdateLog(log_path(self.served.folder))
        except (LogTakenError, OSError) as error:
            log("learning is off", level="warning", model=self.served.name, error=str(error))
            return
        self.served.snapshot = self.caught_up(self.served.snapshot)

    def caught_up(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with the records of the log that it lacks; a record that can't be learned is skipped."""
        done = _updates(snapshot.model)
        missing = [record for record in (self._log.records if self._log else []) if record.number > done]
        if not missing:
            return snapshot
        log("learning from the log", model=self.served.name, requests=len(missing))
        try:
            snapshot = self._learned(snapshot, missing)
        except (ZipfelError, ValueError):
            for record in missing:
                snapshot = self._learned_or_skipped(snapshot, record)
        self.unsaved = True
        return snapshot

    def learn(self, documents: Sequence[tuple[str, Sequence[str]]], sizes: Sequence[int], _: None) -> list[Snapshot]:
        """Adds the documents of several requests; returns when they are on disk and the new model answers.

        sizes: how many documents each request has, as for `ServedModel.answer`.
        """
        if self._log is None:
            self.open()
        if self._log is None:
            raise RequestError(409, "this process can't write beside the model folder, or another one learns for it")
        snapshot = self.served.snapshot
        first = max([_updates(snapshot.model), *(record.number for record in self._log.records)]) + 1
        parts = [documents[a:b] for a, b in pairwise([0, *accumulate(sizes)])]
        records = [Record(first + i, *zip(*part, strict=True)) for i, part in enumerate(parts)]
        fresh = self._learned(snapshot, records)
        try:
            self._log.append(records)
        except OSError as error:
            raise RequestError(507, f"the documents can't be kept on disk ({error.strerror})") from None
        self.served.snapshot, self.unsaved = fresh, True
        return [fresh] * len(sizes)

    def _learned_or_skipped(self, snapshot: Snapshot, record: Record) -> Snapshot:
        try:
            return self._learned(snapshot, [record])
        except (ZipfelError, ValueError) as error:
            kind = type(error).__name__
            log("a record can't be learned", level="error", model=self.served.name, number=record.number, error=kind)
            return snapshot

    def _learned(self, snapshot: Snapshot, records: Sequence[Record]) -> Snapshot:
        model = copy.copy(snapshot.model)  # which learns without a change to what it shares with the original
        texts = [text for record in records for text in record.texts]
        model.partial_fit(texts, [list(labels) for record in records for labels in record.tags])
        number = max(_updates(snapshot.model), records[-1].number)
        model.training_ = {**model.training_, UPDATES: number}
        return self.served.warm(Snapshot.of(model, snapshot.version + 1))

    def save(self) -> None:
        """Saves the model; then the log can be emptied. A model that someone else saved meanwhile is learned on."""
        if not self.unsaved or self._log is None:
            return
        if stamp_of(self.served) not in (self.served.stamp, None):
            self.reload()
        model = self.served.snapshot.model
        try:
            model.save(self.served.folder)
        except (ZipfelError, OSError) as error:
            log("the model can't be saved: its log keeps the documents", level="error", error=str(error))
            return
        self.served.stamp = stamp_of(self.served)
        self.unsaved = False
        self._log.clear()

    def reload(self) -> None:
        """Reads the folder again and swaps its model in, with what the log has and it lacks."""
        stamp = stamp_of(self.served)
        model = Zipfel.load(self.served.folder)
        model.encoder = self.served.snapshot.model.encoder
        fresh = Snapshot.of(model, self.served.snapshot.version + 1)
        self.served.snapshot = self.served.warm(self.caught_up(fresh))
        self.served.stamp = stamp
        self.served.describe()

    def close(self) -> None:
        self.save()
        if self._log is not None:
            self._log.close()
            self._log = None


def _updates(model: Zipfel) -> int:
    found = model.training_.get(UPDATES, 0)
    return found if isinstance(found, int) else 0
