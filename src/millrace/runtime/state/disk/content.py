"""Describes the content of an environment: its version, its tables, and the small state next to them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from millrace.runtime.state.disk.environment import Environment, UnusableError
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.writer import Writer
from millrace.runtime.storage import dumps

HEAD = b"\0\0head"
"""the key of the head"""
_SUCCESSOR = b"\0\0successor"
_WHOLE = b"\0\0small-whole"
_CHANGES = b"\0\0small-changes-"
_WORTH_REWRITING = 256 * 1024
"""Bytes of small changes up to which the small state is not written again as a whole."""

TableName = tuple[str, str]
"""(uid of the operator, name of the state)"""


@dataclass
class Head:
    """The record that makes a version complete; it is written last."""

    version: int | None = None
    """the version of the content; None while it is being written"""
    tables: dict[TableName, tuple[int, str]] = field(default_factory=dict)
    """name of a table -> (number, kind)"""
    timer_numbers: dict[TableName, int] = field(default_factory=dict)
    """name of a timer queue -> number of its next registration"""
    map_number: int = 0
    """number of the next map entry"""
    whole_bytes: int = 0
    changes_bytes: int = 0
    """size in bytes of the small state's changes since it was written as a whole"""

    def prefix(self, name: TableName, kind: str) -> bytes:
        """The prefix of a table's keys; a new table gets a number."""
        number, _ = self.tables.setdefault(name, (len(self.tables) + 1, kind))
        return prefix_of(number)


def prefix_of(number: int) -> bytes:
    """The prefix of the keys of the table with this number."""
    return number.to_bytes(2, "big")


def read_head(get: Callable[[bytes], bytes | None]) -> Head:
    """The head of an environment; a new one if the environment is empty."""
    record = get(HEAD)
    if record is None:
        return Head()
    head: Head = pickle.loads(record)
    return head


def version_and_successor(environment: Environment) -> tuple[int | None, tuple[int | None, int] | None]:
    """The version of an environment, and the pair that ``note_successor`` stored last. Raises ``UnusableError``."""
    try:
        with environment.read() as txn:
            successor = txn.get(_SUCCESSOR)
            return read_head(txn.get).version, None if successor is None else pickle.loads(successor)
    except Exception as error:  # of the store, or of what is in it
        raise UnusableError(f"{environment.path}: {error}") from error


def note_successor(environment: Environment, version: int | None, successor: int) -> None:
    """Store that the changes of version ``successor`` follow ``version``, whether or not they will ever be
    acknowledged."""
    with environment.write() as txn:
        txn.put(_SUCCESSOR, dumps((version, successor)))


def write_head(writer: Writer, head: Head) -> None:
    writer.put(HEAD, dumps(head))


def write_small_whole(writer: Writer, head: Head, pieces: list[Any]) -> None:
    """Store the small state as a whole."""
    record = dumps((head.version, pieces))
    writer.put(_WHOLE, record)
    writer.remove_below(_CHANGES)
    head.whole_bytes, head.changes_bytes = len(record), 0


def write_small_changes(writer: Writer, head: Head, changes: list[tuple[int, Any]]) -> bool:
    """Store changes of the small state, each as (version, piece). False if they are so large that it should be written
    as a whole."""
    records = [(version, dumps(piece)) for version, piece in changes]
    size = head.changes_bytes + sum(len(record) for _, record in records)
    if size > max(_WORTH_REWRITING, head.whole_bytes):
        return False
    for version, record in records:
        writer.put(_CHANGES + version.to_bytes(8, "big"), record)
    head.changes_bytes = size
    return True


def read_small(reader: Reader) -> Iterator[tuple[int, Any]]:
    """The small state as (version, piece); each piece is to be applied onto those before it."""
    record = reader.get(_WHOLE)
    if record is not None:
        version, pieces = pickle.loads(record)
        for piece in pieces:
            yield version, piece
    for key, changes in list(reader.below(_CHANGES)):
        yield int.from_bytes(key[-8:], "big"), pickle.loads(changes)
