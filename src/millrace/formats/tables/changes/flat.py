"""Messages of changes whose first three members say what happened to a row; those that follow are metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from millrace.formats.tables.changes.base import ChangeDecoding, Changes, Metadata
from millrace.formats.tables.changes.partial_rows import PartialRows
from millrace.formats.tables.json.reader import JsonReader
from millrace.formats.tables.options import IGNORE, Options
from millrace.relational.types import DataType


@dataclass(frozen=True)
class FlatChanges:
    """What a format makes of such messages."""

    wanted: tuple[Metadata, ...]

    def changes(self, columns: Sequence[pa.Array]) -> Changes:
        raise NotImplementedError

    def metadata(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return [each.of(column) for each, column in zip(self.wanted, columns[3:])]


def flat_decoding(
    options: Options,
    interpreter: FlatChanges,
    members: Sequence[tuple[str, DataType]],
    completion: PartialRows | None = None,
) -> ChangeDecoding:
    """Reads the three members and the metadata that is wanted.

    :param completion: for old rows that have only what was changed.
    """
    table, lenient = options.table.table, options.flag(IGNORE)
    members = [*members, *((each.member, each.read_as) for each in interpreter.wanted)]
    reader = JsonReader(table, members, options.times(), lenient=lenient, completion=completion)
    return ChangeDecoding(table, reader, interpreter, lenient)
