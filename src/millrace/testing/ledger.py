"""``LedgerSink``: a two-phase-commit sink for tests that count whether each record was committed exactly once."""

from __future__ import annotations

import os
import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.common.sink import Committer, NamedSink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.sink_base import epoch_of_name, owner_of, prepared_name
from millrace.util.by_value import pickled_by_value

__all__ = ["Ledger", "LedgerEntry", "LedgerSink", "read_ledger"]

PREPARED = ".prepared"
COMMITTED = ".committed"
_NAME = re.compile(r"(?P<owner>[0-9a-f]+)-(?P<epoch>\d+)-(?P<subtask>\d+)-[0-9a-f]+")
_SHOWN = 10


@dataclass(frozen=True)
class LedgerEntry:
    """One transaction: the records of one subtask in one epoch.

    >>> LedgerEntry("a", epoch=1, subtask=0, records=(1, 2)).records
    (1, 2)
    """

    name: str
    epoch: int
    subtask: int
    records: tuple[Any, ...]


@dataclass(frozen=True)
class Ledger:
    """The committed transactions of a ``LedgerSink``, by epoch and subtask.

    >>> sink = env.from_collection([1, 2]).sink_to(LedgerSink("ledger"))
    >>> result = env.execute()
    >>> sorted(read_ledger("ledger").records)
    [1, 2]
    """

    entries: tuple[LedgerEntry, ...]
    prepared: tuple[str, ...]
    """names of transactions that are neither committed nor aborted"""

    @property
    def records(self) -> list[Any]:
        """All records of all entries, in the order of their commits."""
        return [record for entry in self.entries for record in entry.records]

    def lost(self, expected: Iterable[Any]) -> list[Any]:
        """Expected records that are missing, each as often as it is missing."""
        missing, originals = _counted(expected)
        missing.subtract(_counted(self.records)[0])
        return [originals[text] for text in missing for _ in range(missing[text])]

    def doubled(self, expected: Iterable[Any]) -> list[Any]:
        """Records that are not expected, or occur too often."""
        surplus, originals = _counted(self.records)
        surplus.subtract(_counted(expected)[0])
        return [originals[text] for text in surplus for _ in range(surplus[text])]

    def check(self, expected: Iterable[Any]) -> None:
        """:raises AssertionError: unless exactly the expected records are committed, in any order."""
        expected = list(expected)
        lost, doubled = self.lost(expected), self.doubled(expected)
        if lost or doubled:
            raise AssertionError(
                f"{len(self.records)} records committed, {len(expected)} expected; lost {_some(lost)}, "
                f"doubled or not expected {_some(doubled)}"
            )


def _counted(records: Iterable[Any]) -> tuple[Counter[str], dict[str, Any]]:
    """Records by their repr, since not all can be hashed."""
    originals: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    for record in records:
        text = repr(record)
        counts[text] += 1
        originals.setdefault(text, record)
    return counts, originals


def _some(records: Sequence[Any]) -> str:
    more = ", ..." if len(records) > _SHOWN else ""
    return f"{len(records)}" + (f" ({', '.join(map(repr, records[:_SHOWN]))}{more})" if records else "")


def read_ledger(directory: str | os.PathLike[str]) -> Ledger:
    """The ledger in a directory, also while a job runs; empty if the directory does not exist.

    >>> read_ledger("empty").records
    []
    """
    place = Path(directory)
    entries = []
    for path in place.glob(f"*{COMMITTED}"):
        match = _NAME.fullmatch(path.stem)
        if match is not None:
            records = tuple(pickle.loads(path.read_bytes()))
            entries.append(LedgerEntry(path.stem, int(match["epoch"]), int(match["subtask"]), records))
    entries.sort(key=lambda entry: (entry.epoch, entry.subtask, entry.name))
    return Ledger(tuple(entries), tuple(sorted(path.stem for path in place.glob(f"*{PREPARED}"))))


class LedgerSink(NamedSink[Any]):
    """Writes the records of each subtask and epoch into a file in ``directory``, which all workers must reach, and
    renames the file when it is committed. ``read_ledger`` reads the directory.

    It survives ``kill -9`` at any moment, but not an engine that breaks the rules: committing what was aborted, or
    aborting what is committed, is an error.

        >>> sink = env.from_collection(["a"]).sink_to(LedgerSink("ledger"))
        >>> result = env.execute()
        >>> read_ledger("ledger").check(["a"])

    :param on_commit: called on the driver with the name of a transaction right after it was committed, for tests that
        want to fail there.
    """

    def __init__(self, directory: str | os.PathLike[str], on_commit: Callable[[str], None] | None = None) -> None:
        self._directory = os.path.abspath(directory)
        self._on_commit = on_commit

    def create_writer(self, context: WriterInitContext) -> _LedgerWriter:
        return _LedgerWriter(self._directory, context, self._uid)

    def create_committer(self) -> _LedgerCommitter:
        return _LedgerCommitter(self._directory, self._uid, self._on_commit)


class _LedgerWriter(SinkWriter[Any]):
    def __init__(self, directory: str, context: WriterInitContext, uid: str) -> None:
        self._directory = directory
        self._context = context
        self._uid = uid
        self._records: list[Any] = []

    def write(self, element: Any, context: SinkWriterContext) -> None:
        self._records.append(element)

    def prepare_commit(self) -> list[str]:
        if not self._records:
            return []
        os.makedirs(self._directory, exist_ok=True)
        name = prepared_name(self._context, self._uid)
        path = os.path.join(self._directory, name)
        # Only a complete file has the name that recover() looks for; what is left of others has no meaning.
        with open(f"{path}.tmp", "wb") as file:
            file.write(pickled_by_value(self._records))
        os.rename(f"{path}.tmp", path + PREPARED)
        self._records = []
        return [name]


class _LedgerCommitter(Committer[str]):
    def __init__(self, directory: str, uid: str, on_commit: Callable[[str], None] | None) -> None:
        self._directory = directory
        self._uid = uid
        self._on_commit = on_commit

    def _path(self, name: str, ending: str) -> str:
        return os.path.join(self._directory, name + ending)

    def commit(self, committables: Sequence[str]) -> None:
        """:raises AssertionError: a transaction was aborted before, or never prepared."""
        for name in committables:
            try:
                os.rename(self._path(name, PREPARED), self._path(name, COMMITTED))
            except FileNotFoundError:
                if not os.path.exists(self._path(name, COMMITTED)):
                    raise AssertionError(f"transaction {name} is to be committed, but it is not prepared") from None
            if self._on_commit is not None:
                self._on_commit(name)

    def abort(self, committables: Sequence[str]) -> None:
        """:raises AssertionError: a transaction is committed already."""
        for name in committables:
            if os.path.exists(self._path(name, COMMITTED)):
                raise AssertionError(f"transaction {name} is to be aborted, but it is committed")
            Path(self._path(name, PREPARED)).unlink(missing_ok=True)

    def recover(self, job_id: str, committables: Sequence[str], states: Sequence[Any]) -> None:
        for path in self._unheard(job_id, committables):
            path.unlink(missing_ok=True)

    def sweep(self, job_id: str, epoch: int, committables: Sequence[str], states: Sequence[Any]) -> None:
        for path in self._unheard(job_id, committables):
            if epoch_of_name(path.stem) <= epoch:
                path.unlink(missing_ok=True)

    def _unheard(self, job_id: str, committables: Sequence[str]) -> list[Path]:
        """Prepared files whose transaction the driver does not know."""
        waiting = set(committables)
        found = Path(self._directory).glob(f"{owner_of(job_id, self._uid)}-*")
        return [path for path in found if path.suffix in (PREPARED, ".tmp") and path.stem not in waiting]
