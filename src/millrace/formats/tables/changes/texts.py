"""Changes as JSON messages: what is new is created, what was is deleted; an update is a message for each side."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables.json.texts import JsonTexts
from millrace.relational.formats import EncodingFormat
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows
from millrace.relational.sources import ALL_KINDS


@dataclass(frozen=True)
class Frame:
    """The text around the JSON of a row."""

    start: str
    end: str


class ChangeEncoding(EncodingFormat):
    kinds = ALL_KINDS

    def __init__(self, columns: Schema, texts: JsonTexts, created: Frame, deleted: Frame) -> None:
        self._columns = columns
        self._texts = texts
        self._created = created
        self._deleted = deleted

    def encode(self, rows: Rows) -> pa.Array:
        fields = [(column.name, array, column.type) for column, array in zip(self._columns, rows.columns)]
        adds = pa.array(rows.adds())
        start = pc.if_else(adds, self._created.start, self._deleted.start)
        end = pc.if_else(adds, self._created.end, self._deleted.end)
        return pc.binary_join_element_wise(start, self._texts.objects(fields, len(rows)), end, "").cast(pa.binary())


def before_and_after(member: str, created: str, deleted: str, leave_out_nulls: bool) -> tuple[Frame, Frame]:
    """The frames of messages with the row before and after, one of them null, and a member that says what happened."""
    no_before, no_after = ("", "") if leave_out_nulls else ('"before":null,', '"after":null,')
    return (
        Frame(f'{{{no_before}"after":', f',"{member}":"{created}"}}'),
        Frame('{"before":', f',{no_after}"{member}":"{deleted}"}}'),
    )
