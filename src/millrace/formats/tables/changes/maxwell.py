"""``maxwell-json``: changes of MySQL as Maxwell captures them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables.changes.base import (
    CREATED,
    DELETED,
    UPDATED,
    Changes,
    Members,
    Metadata,
    row_type,
    seconds,
)
from millrace.formats.tables.changes.flat import FlatChanges, flat_decoding
from millrace.formats.tables.changes.partial_rows import PartialRows
from millrace.formats.tables.changes.texts import ChangeEncoding, Frame
from millrace.formats.tables.json.format import NO_NULLS, PLAIN_DECIMALS, check_json_types, json_texts
from millrace.formats.tables.options import IGNORE, NULL_KEY_LITERAL, NULL_KEY_MODE, TIMES, Options
from millrace.relational import types as t
from millrace.relational.formats import DecodingFormat, EncodingFormat, FormatContext, FormatFactory

_NAMES = t.ArrayType(t.string())
_MEMBERS = Members(
    "type",
    {"insert": CREATED, "bootstrap-insert": CREATED, "update": UPDATED, "delete": DELETED},
    'the "old" field of a {} message is null',
    'the "data" field of a {} message is null',
)
METADATA = {
    "database": Metadata("database", t.string(), t.string()),
    "table": Metadata("table", t.string(), t.string()),
    "primary-key-columns": Metadata("primary_key_columns", _NAMES, _NAMES),
    "ingestion-timestamp": Metadata("ts", t.BigIntType(), t.LocalZonedTimestampType(3), seconds),
}


class MaxwellJsonFormatFactory(FormatFactory):
    identifier = "maxwell-json"
    optional = (IGNORE, TIMES, NULL_KEY_MODE, NULL_KEY_LITERAL, PLAIN_DECIMALS, NO_NULLS)
    readable_metadata = {key: each.type for key, each in METADATA.items()}

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        row = row_type(table.columns)
        members = [("data", row), ("old", row), ("type", t.string())]
        metadata = tuple(METADATA[key] for key in table.metadata)
        return flat_decoding(options, _Maxwell(metadata), members, PartialRows("update", lists=False))

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        created, deleted = (Frame('{"data":', f',"type":"{kind}"}}') for kind in ("insert", "delete"))
        return ChangeEncoding(table.columns, json_texts(options), created, deleted)


class _Maxwell(FlatChanges):
    def changes(self, columns: Sequence[pa.Array]) -> Changes:
        data, old, kind = columns[:3]
        return _MEMBERS.changes(kind, pc.if_else(pc.equal(kind, "update"), old, data), data)
