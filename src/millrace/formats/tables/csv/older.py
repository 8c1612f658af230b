"""CSV as Flink read and wrote it up to 1.10 (``connector.type`` = ``filesystem``): fields too many are left out, an
empty text is a text, quotes mean something only where the table says which character they are."""

from __future__ import annotations

import pyarrow as pa

from millrace.formats.csv_schema import CsvDialect
from millrace.formats.tables.csv.columns import BadValue, CsvColumn
from millrace.formats.tables.csv.format import CsvEncoding
from millrace.formats.tables.options import IGNORE, Options
from millrace.formats.tables.problems import malformed
from millrace.relational.casting import is_text
from millrace.relational.formats import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.types import DataType, DecimalType

DELIMITER = "field-delimiter"
QUOTE = "quote-character"
COMMENT = "comment-prefix"
NULL = "null-literal"
FIRST_LINE = "ignore-first-line"


class OlderCsvFactory(FormatFactory):
    identifier = "csv"
    optional = (DELIMITER, QUOTE, COMMENT, NULL, FIRST_LINE, IGNORE)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        comment = options.text(COMMENT)
        return OlderCsvDecoding(
            table.table, table.columns, _dialect(options), comment.encode() if comment else None, options.flag(IGNORE)
        )

    def encoding(self, table: FormatContext) -> EncodingFormat:
        return OlderCsvEncoding(table.table, table.columns, _dialect(Options(self.identifier, table)), False)


def _dialect(options: Options) -> CsvDialect:
    return CsvDialect(
        column_separator=options.character(DELIMITER, ",") or ",",
        quote_char=options.character(QUOTE, None),
        escape_char=None,
        array_separator=";",
        null_value=options.text(NULL),
        allow_comments=False,
    )


class OlderCsvEncoding(CsvEncoding):
    """DECIMALs keep the zeros at their end."""

    def _texts(self, array: pa.Array, kind: DataType) -> pa.Array:
        return array.cast(pa.string()) if isinstance(kind, DecimalType) else super()._texts(array, kind)

    def _few_texts(self, array: pa.Array, kind: DataType) -> list[str | None]:
        found: list[str | None] = self._texts(array, kind).to_pylist()
        return found


class OlderCsvDecoding(DecodingFormat):
    """:param lenient: fields that do not fit are NULL, lines with too few of them are left out and counted."""

    def __init__(
        self, table: str, columns: Schema, dialect: CsvDialect, comment: bytes | None, lenient: bool
    ) -> None:
        self._table = table
        self._names = [column.name for column in columns]
        self._separator, self._quote = dialect.column_separator, dialect.quote_char
        self._comment = comment
        self._lenient = lenient
        self._texts = [is_text(column.type) and dialect.null_value is None for column in columns]
        self._columns = [CsvColumn(column.type, dialect.null_value, ";", lenient) for column in columns]

    def decode(self, messages: pa.Array) -> Decoded:
        rows, numbers, skipped = [], [], 0
        for number, message in enumerate(messages.to_pylist()):
            if self._comment is not None and message.startswith(self._comment):
                continue
            fields = self._fields(message.removesuffix(b"\r").decode())
            if len(fields) >= len(self._names):
                rows.append(fields[: len(self._names)])
                numbers.append(number)
            elif self._lenient:
                skipped += 1
            else:
                raise malformed(self._table, number, message, f"it has {len(fields)} fields of {len(self._names)}")
        columns = []
        for place, (name, column) in enumerate(zip(self._names, self._columns)):
            texts = pa.array([row[place] for row in rows], pa.string())
            try:
                columns.append(texts if self._texts[place] else column.read(texts))
            except BadValue as error:
                number = numbers[error.row]
                raise malformed(self._table, number, messages[number].as_py(), f"field '{name}': {error}") from error
        return Decoded(Rows(record_batch(columns, len(rows))), numbers, skipped)

    def _fields(self, line: str) -> list[str]:
        """A field that begins with the quote ends with the next one before a separator or the line's end."""
        quote, separator = self._quote, self._separator
        if quote is None or quote not in line:
            return line.split(separator)
        fields, at = [], 0
        while True:
            if line.startswith(quote, at):
                end = line.find(quote + separator, at + 1)
                if end < 0:
                    fields.append(line[at + 1 :].removesuffix(quote))
                    return fields
                fields.append(line[at + 1 : end])
                at = end + 2
                continue
            end = line.find(separator, at)
            if end < 0:
                fields.append(line[at:])
                return fields
            fields.append(line[at:end])
            at = end + 1
