"""``changelog-json``: a message is one side of a change, with its kind: ``{"data": {...}, "op": "+I"}``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types import RowKind
from millrace.formats.tables.changes.base import Reader, row_type
from millrace.formats.tables.json.format import check_json_types, json_texts
from millrace.formats.tables.json.reader import JsonReader
from millrace.formats.tables.json.texts import JsonTexts
from millrace.formats.tables.options import IGNORE, TIMES, Options
from millrace.formats.tables.problems import malformed
from millrace.relational import types as t
from millrace.relational.formats import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import ALL_KINDS

_SIGNS = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}
_WORDS = pa.array(list(_SIGNS))
_KINDS = np.array([kind.value for kind in _SIGNS.values()], np.uint8)


class ChangelogJsonFormatFactory(FormatFactory):
    identifier = "changelog-json"
    optional = (IGNORE, TIMES)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        lenient = options.flag(IGNORE)
        members = [("data", row_type(table.columns)), ("op", t.string())]
        reader = JsonReader(table.table, members, options.times(), lenient=lenient)
        return ChangelogDecoding(table.table, reader, lenient)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        return ChangelogEncoding(table.columns, json_texts(options))


class ChangelogDecoding(DecodingFormat):
    """:param lenient: messages without a row, or of a kind that there is not, are left out and counted."""

    kinds = ALL_KINDS

    def __init__(self, table: str, reader: Reader, lenient: bool) -> None:
        self._table, self._reader, self._lenient = table, reader, lenient

    def decode(self, messages: pa.Array) -> Decoded:
        found = self._reader.read(messages)
        data, operation = found.columns[:2]
        places = pc.index_in(operation, value_set=_WORDS)
        good = np.asarray(pc.and_(places.is_valid(), data.is_valid()))
        wrong = np.flatnonzero(~good)
        if len(wrong) and not self._lenient:
            at, number = int(wrong[0]), int(found.numbers[wrong[0]])
            told = operation[at].as_py()
            reason = 'the "data" field is null' if told in _SIGNS else f'unknown "op" value {told!r}'
            raise malformed(self._table, number, messages[number].as_py(), reason)
        kept = pa.array(np.flatnonzero(good))
        columns = [column.take(kept) for column in data.flatten()]
        kinds = _KINDS[np.asarray(places.take(kept))]
        rows = Rows(record_batch(columns, len(kept)), kinds)
        return Decoded(rows, found.numbers[good], found.skipped + len(wrong))


class ChangelogEncoding(EncodingFormat):
    kinds = ALL_KINDS

    def __init__(self, columns: Schema, texts: JsonTexts) -> None:
        self._columns, self._texts = columns, texts

    def encode(self, rows: Rows) -> pa.Array:
        fields = [(column.name, array, column.type) for column, array in zip(self._columns, rows.columns)]
        by_kind = {kind.value: sign for sign, kind in _SIGNS.items()}
        signs = pa.array([by_kind[kind] for kind in rows.kind_values().tolist()], pa.string())
        data = self._texts.objects(fields, len(rows))
        return pc.binary_join_element_wise('{"data":', data, ',"op":"', signs, '"}', "").cast(pa.binary())
