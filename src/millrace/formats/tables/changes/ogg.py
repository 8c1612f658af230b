"""``ogg-json``: changes as Oracle GoldenGate captures them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables import times
from millrace.formats.tables.changes.base import CREATED, DELETED, UPDATED, Changes, Members, Metadata, row_type
from millrace.formats.tables.changes.flat import FlatChanges, flat_decoding
from millrace.formats.tables.changes.texts import ChangeEncoding, before_and_after
from millrace.formats.tables.json.format import NO_NULLS, PLAIN_DECIMALS, check_json_types, json_texts
from millrace.formats.tables.options import IGNORE, NULL_KEY_LITERAL, NULL_KEY_MODE, TIMES, Options
from millrace.relational import types as t
from millrace.relational.formats import DecodingFormat, EncodingFormat, FormatContext, FormatFactory

_TIME = t.LocalZonedTimestampType(6)
_NAMES = t.ArrayType(t.string())
_MEMBERS = Members(
    "op_type",
    {"I": CREATED, "U": UPDATED, "D": DELETED},
    'the "before" field of a {} message is null. If the table is in Postgres, see that it has REPLICA IDENTITY FULL',
    'the "after" field of a {} message is null',
)


def _moments(texts: pa.Array) -> pa.Array:
    """Times of GoldenGate, with a blank or a T between date and time, in UTC; NULL for what is none."""
    plain = pc.utf8_rtrim(pc.replace_substring(texts, "T", " "), characters="Z")
    try:
        return times.timestamps(plain, times.SQL, 6).cast(times.US_UTC)
    except (pa.ArrowException, ValueError):
        return pa.array([_moment(text) for text in plain.to_pylist()], times.US).cast(times.US_UTC)


def _moment(text: str | None) -> dt.datetime | None:
    try:
        return None if text is None else times.parse_timestamp(text, times.SQL, 6)
    except ValueError:
        return None


METADATA = {
    "table": Metadata("table", t.string(), t.string()),
    "primary-keys": Metadata("primary_keys", _NAMES, _NAMES),
    "ingestion-timestamp": Metadata("current_ts", t.string(), _TIME, _moments),
    "event-timestamp": Metadata("op_ts", t.string(), _TIME, _moments),
}


class OggJsonFormatFactory(FormatFactory):
    identifier = "ogg-json"
    optional = (IGNORE, TIMES, NULL_KEY_MODE, NULL_KEY_LITERAL, PLAIN_DECIMALS, NO_NULLS)
    readable_metadata = {key: each.type for key, each in METADATA.items()}

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        row = row_type(table.columns)
        members = [("before", row), ("after", row), ("op_type", t.string())]
        metadata = tuple(METADATA[key] for key in table.metadata)
        return flat_decoding(options, _Ogg(metadata, options.flag(IGNORE)), members)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        texts = json_texts(options)
        return ChangeEncoding(table.columns, texts, *before_and_after("op_type", "I", "D", texts.leave_out_nulls))


@dataclass(frozen=True)
class _Ogg(FlatChanges):
    lenient: bool
    """times that are none are NULL"""

    def changes(self, columns: Sequence[pa.Array]) -> Changes:
        before, after, operation = columns[:3]
        found = _MEMBERS.changes(operation, before, after)
        return found if self.lenient else replace(found, problems=(*found.problems, *self._no_times(columns)))

    def _no_times(self, columns: Sequence[pa.Array]) -> Iterator[tuple[int, str]]:
        for each, column in zip(self.wanted, columns[3:]):
            wrong = pc.and_(column.is_valid(), each.of(column).is_null())
            for at in np.flatnonzero(np.asarray(wrong)):
                yield int(at), f"field '{each.member}': not a timestamp: {column[at].as_py()!r}"
