"""Changes on their way from the log to those who make columns, texts or events of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from millrace.connectors.cdc.events import SchemaChangeEvent
from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.connectors.cdc.seen import Seen

__all__ = ["UNCHANGED", "Change", "ChunkRows", "LogPart", "Relation"]


class _Unchanged:
    """In the place of a value of ``after`` that the log leaves out since it did not change."""

    def __repr__(self) -> str:
        return "UNCHANGED"

    def __reduce__(self) -> str:
        return "UNCHANGED"


UNCHANGED = _Unchanged()


@dataclass(frozen=True, eq=False)
class Relation:
    """A table with the schema that some of its changes have. One object for all of these."""

    table: TableId
    schema: TableSchema


class Change(NamedTuple):
    """A change of a row. Values are as the log has them: ``CdcDatabase.column`` makes a column of them.

    One whose primary key is changed is two: a deletion (op ``d``) and an insertion (``c``).
    """

    op: str
    """``c``, ``u`` or ``d``"""
    relation: Relation
    before: tuple[Any, ...] | None
    """of ``u``, if the log has it, and of ``d``: as wide as the schema"""
    after: tuple[Any, ...] | None
    """of ``c`` and ``u``"""
    mark: Any
    """what ``Seen.contains`` is asked about, and ``CdcDatabase.source`` tells of"""
    time: int
    """ms since 1970"""
    before_is_key: bool = False
    """the other values of ``before`` are None since the log does not have them"""


@dataclass(frozen=True)
class LogPart:
    """A piece of the log. :ivar position: behind it: reading can go on there, and misses and doubles nothing."""

    events: Sequence[Change | SchemaChangeEvent]
    position: Any


@dataclass(frozen=True)
class ChunkRows:
    """The rows of a chunk.

    :ivar columns: for each column of the schema its values, as the log would have them: a list, or texts in Arrow.
    :ivar seen: which changes are in them.
    """

    relation: Relation
    columns: Sequence[Sequence[Any] | pa.Array]
    count: int
    seen: Seen
