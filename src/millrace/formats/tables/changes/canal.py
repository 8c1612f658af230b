"""``canal-json``: changes of MySQL as Canal captures them, several rows a message."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables.changes.base import (
    CREATED,
    DELETED,
    NOTHING,
    UPDATED,
    ChangeDecoding,
    Changes,
    Members,
    Metadata,
    milliseconds,
    row_type,
)
from millrace.formats.tables.changes.flat import FlatChanges, flat_decoding
from millrace.formats.tables.changes.partial_rows import PartialRows
from millrace.formats.tables.changes.texts import ChangeEncoding, Frame
from millrace.formats.tables.json.format import NO_NULLS, PLAIN_DECIMALS, check_json_types, json_texts
from millrace.formats.tables.json.reader import JsonReader
from millrace.formats.tables.options import IGNORE, NULL_KEY_LITERAL, NULL_KEY_MODE, TIMES, Options
from millrace.formats.tables.pieces import Numbers
from millrace.formats.tables.problems import malformed
from millrace.relational import types as t
from millrace.relational.formats import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.functions.strings.java_regex import UnsupportedRegex, compiled

DATABASES, TABLES = "database.include", "table.include"
_NAMES = t.ArrayType(t.string())
_TIME = t.LocalZonedTimestampType(3)
_SQL_TYPES = t.MapType(t.string(), t.IntType())
_MEMBERS = Members(
    "type",
    {"INSERT": CREATED, "UPDATE": UPDATED, "DELETE": DELETED, "CREATE": NOTHING},
    'the "old" field of a {} message is null, or has other rows than "data"',
    'the "data" field of a {} message is null',
)
METADATA = {
    "database": Metadata("database", t.string(), t.string()),
    "table": Metadata("table", t.string(), t.string()),
    "sql-type": Metadata("sqlType", _SQL_TYPES, _SQL_TYPES),
    "pk-names": Metadata("pkNames", _NAMES, _NAMES),
    "ingestion-timestamp": Metadata("ts", t.BigIntType(), _TIME, milliseconds),
    "event-timestamp": Metadata("es", t.BigIntType(), _TIME, milliseconds),
}


class CanalJsonFormatFactory(FormatFactory):
    identifier = "canal-json"
    optional: tuple[str, ...] = (
        IGNORE, TIMES, NULL_KEY_MODE, NULL_KEY_LITERAL, PLAIN_DECIMALS, NO_NULLS, DATABASES, TABLES,
    )  # fmt: skip
    readable_metadata = {key: each.type for key, each in METADATA.items()}

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        lenient, rows = options.flag(IGNORE), t.ArrayType(row_type(table.columns))
        members = [("data", rows), ("old", rows), ("type", t.string())]
        metadata = tuple(METADATA[key] for key in table.metadata)
        decoding = flat_decoding(options, _Canal(metadata), members, PartialRows("UPDATE", lists=True))
        wanted = [(name, _pattern(options, option)) for name, option in (("database", DATABASES), ("table", TABLES))]
        patterns = [(name, pattern) for name, pattern in wanted if pattern is not None]
        if not patterns:
            return decoding
        places = JsonReader(table.table, [(name, t.string()) for name, _ in patterns], options.times(), lenient=lenient)
        return OfSomeTables(table.table, places, patterns, decoding, lenient)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        created, deleted = (Frame('{"data":[', f'],"type":"{kind}"}}') for kind in ("INSERT", "DELETE"))
        return ChangeEncoding(table.columns, json_texts(options), created, deleted)


def _pattern(options: Options, name: str) -> re.Pattern[str] | None:
    text = options.text(name)
    if text is None:
        return None
    try:
        found = compiled(text)
    except UnsupportedRegex as error:
        raise options.problem(f"option '{options.format}.{name}': {error}") from error
    if found is None:
        raise options.wrong(name, text, "a regular expression")
    return found


class OfSomeTables(DecodingFormat):
    """Leaves out messages of other databases and tables, before their rows are looked at: those have other columns.

    :param places: reads the fields that the patterns are for.
    :param lenient: messages without these fields are left out and counted.
    """

    def __init__(
        self,
        table: str,
        places: JsonReader,
        patterns: Sequence[tuple[str, re.Pattern[str]]],
        inner: ChangeDecoding,
        lenient: bool,
    ) -> None:
        self._table = table
        self._places = places
        self._patterns = list(patterns)
        self._inner = inner
        self._lenient = lenient
        self.kinds = inner.kinds

    def decode(self, messages: pa.Array) -> Decoded:
        found = self._places.read(messages)
        wanted = np.ones(len(found.numbers), np.bool_)
        missing = np.zeros(len(found.numbers), np.bool_)
        for (name, pattern), texts in zip(self._patterns, found.columns):
            missing |= np.asarray(texts.is_null())
            if missing.any() and not self._lenient:
                number = int(found.numbers[np.argmax(missing)])
                raise malformed(self._table, number, messages[number].as_py(), f"there is no field '{name}'")
            fits = [text for text in pc.unique(texts).to_pylist() if text is not None and pattern.fullmatch(text)]
            wanted &= np.asarray(pc.is_in(texts, value_set=pa.array(fits, pa.string())))
        numbers = found.numbers[wanted]
        decoded = self._inner.decode(pc.if_else(_at(numbers, len(messages)), messages, None))
        return Decoded(decoded.rows, decoded.messages, found.skipped + decoded.skipped + int(missing.sum()))


def _at(numbers: Numbers, count: int) -> pa.Array:
    """True at these places."""
    mask = np.zeros(count, np.bool_)
    mask[numbers] = True
    return pa.array(mask)


class _Canal(FlatChanges):
    def changes(self, columns: Sequence[pa.Array]) -> Changes:
        data, old, kind = columns[:3]
        codes = _MEMBERS.codes(kind)
        counts = pc.list_value_length(data)
        changed = codes < NOTHING
        no_data = np.flatnonzero(changed & np.asarray(data.is_null()))
        other_old = (codes == UPDATED) & np.asarray(pc.not_equal(counts, pc.list_value_length(old)).fill_null(True))
        problems = [(int(at), _MEMBERS.missing_after.format(kind[at])) for at in no_data]
        problems += [(int(at), _MEMBERS.missing_before.format("UPDATE")) for at in np.flatnonzero(other_old)]
        # The rows of good messages; a message that means nothing has none.
        usable = changed & ~other_old & np.asarray(data.is_valid())
        lists = pc.if_else(pa.array(usable), data, None)
        messages = np.asarray(pc.list_parent_indices(lists)).astype(np.int64)
        after, kinds = lists.flatten(), kind.take(pa.array(messages))
        updated = pc.equal(kinds, "UPDATE")
        olds = pc.if_else(pa.array(usable & (codes == UPDATED)), old, None).flatten()
        where = pc.if_else(updated, pc.subtract(pc.cumulative_sum(updated.cast(pa.int64())), 1), None)
        before = pc.if_else(updated, olds.take(where), after)
        rows = _MEMBERS.changes(kinds, before, after, messages)
        problems += _MEMBERS.unknown(kind, codes)
        return Changes(rows.operations, before, after, messages, (*problems, *rows.problems))
