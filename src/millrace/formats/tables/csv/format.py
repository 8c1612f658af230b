"""``csv``: a row is a line of CSV, without its end."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millrace.formats.csv_schema import CsvDialect
from millrace.formats.tables.csv.blocks import CsvBlocks
from millrace.formats.tables.csv.columns import BadValue, CsvColumn
from millrace.formats.tables.csv.fields import CsvFields, CsvLines
from millrace.formats.tables.csv.texts import csv_texts, few_csv_texts, is_text
from millrace.formats.tables.options import IGNORE, Options
from millrace.formats.tables.pieces import is_few
from millrace.formats.tables.problems import LENIENCE, check_types, malformed
from millrace.relational.formats import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.types import DataType

DELIMITER = "field-delimiter"
NO_QUOTES = "disable-quote-character"
QUOTE = "quote-character"
COMMENTS = "allow-comments"
ELEMENTS = "array-element-delimiter"
ESCAPE = "escape-character"
NULL = "null-literal"
EXPONENTS = "write-bigdecimal-in-scientific-notation"


class CsvFormatFactory(FormatFactory):
    identifier = "csv"
    optional = (DELIMITER, NO_QUOTES, QUOTE, COMMENTS, IGNORE, ELEMENTS, ESCAPE, NULL, EXPONENTS)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        dialect = _dialect(options)
        return CsvDecoding(table.table, table.columns, dialect, options.flag(IGNORE))

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        return CsvEncoding(table.table, table.columns, _dialect(options), options.flag(EXPONENTS, True))


def _dialect(options: Options) -> CsvDialect:
    check_types(options, lambda kind: CsvColumn(kind, None, ";", False))
    if options.flag(NO_QUOTES) and options.text(QUOTE) is not None:
        raise options.problem(f"'csv.{QUOTE}' has no meaning with 'csv.{NO_QUOTES}': leave one of them out")
    elements = options.text(ELEMENTS)
    if elements == "":
        raise options.wrong(ELEMENTS, elements, "a text that is not empty")
    return CsvDialect(
        column_separator=options.character(DELIMITER, ",") or ",",
        quote_char=None if options.flag(NO_QUOTES) else options.character(QUOTE, '"'),
        escape_char=options.character(ESCAPE, None),
        array_separator=elements or ";",
        null_value=options.text(NULL),
        allow_comments=options.flag(COMMENTS),
    )


class CsvDecoding(DecodingFormat):
    """:param lenient: fields that do not fit are NULL, records that are malformed left out and counted.
    :param wanted: the places of the columns that are read; None: all.
    """

    def __init__(
        self, table: str, columns: Schema, dialect: CsvDialect, lenient: bool, wanted: Sequence[int] | None = None
    ) -> None:
        self._made_of = (table, columns, dialect, lenient)
        self._table = table
        self._wanted = tuple(range(len(columns)) if wanted is None else wanted)
        self._names = [columns[place].name for place in self._wanted]
        self._fields = CsvFields(table, len(columns), dialect, lenient)
        null, separator = dialect.null_value, dialect.array_separator
        self._columns = [CsvColumn(columns[place].type, null, separator, lenient) for place in self._wanted]
        self._blocks = CsvBlocks(columns, self._wanted, dialect)

    def __reduce__(self) -> tuple[object, ...]:
        return CsvDecoding, (*self._made_of, self._wanted)

    def narrowed(self, places: Sequence[int]) -> CsvDecoding:
        return CsvDecoding(*self._made_of, [self._wanted[place] for place in places])

    def decode_lines(self, block: bytes) -> Rows | None:
        found = self._blocks.read(block)
        return None if found is None else Rows(record_batch(*found))

    def decode(self, messages: pa.Array) -> Decoded:
        found = self._fields.split(messages)
        columns = []
        for name, column, place in zip(self._names, self._columns, self._wanted):
            try:
                columns.append(column.read(found.columns[place]))
            except BadValue as error:
                number = int(found.numbers[error.row])
                reason = f"field '{name}': {error}"
                raise malformed(self._table, number, messages[number].as_py(), reason, LENIENCE) from error
        return Decoded(Rows(record_batch(columns, len(found.numbers))), found.numbers, found.skipped)


class CsvEncoding(EncodingFormat):
    """:param exponents: write DECIMAL with an exponent where Java does."""

    def __init__(self, table: str, columns: Schema, dialect: CsvDialect, exponents: bool) -> None:
        self._columns = columns
        self._dialect = dialect
        self._exponents = exponents
        self._lines = CsvLines(table, [column.name for column in columns], dialect)

    def encode(self, rows: Rows) -> pa.Array:
        few = is_few(len(rows))
        text = self._few_texts if few else self._texts
        texts = [(text(array, column.type), is_text(column.type)) for column, array in zip(self._columns, rows.columns)]
        return self._lines.join_few(texts) if few else self._lines.join(texts)

    def _texts(self, array: pa.Array, kind: DataType) -> pa.Array:
        null, separator = self._dialect.null_value or "", self._dialect.array_separator
        return csv_texts(array, kind, null, separator, self._exponents)

    def _few_texts(self, array: pa.Array, kind: DataType) -> list[str | None]:
        """The same of few values, made one by one."""
        null, separator = self._dialect.null_value or "", self._dialect.array_separator
        return few_csv_texts(array, kind, null, separator, self._exponents)
