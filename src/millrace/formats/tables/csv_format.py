"""``csv``: a row is a line of CSV, without its end.

``OlderCsvFactory`` is CSV as Flink read and wrote it up to 1.10 (``connector.type`` = ``filesystem``): fields too many
are left out, an empty text is a text, quotes mean something only where the table says which character they are.
"""

from __future__ import annotations

import codecs
import csv as standard_csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from millrace.formats.csv_blocks import CsvBlocks
from millrace.formats.csv_fields import TABLES, BadValue, FieldReaders
from millrace.formats.csv_quotes import CsvQuotes, UnquotableText
from millrace.formats.csv_records import RecordSplitter, fitted
from millrace.formats.csv_schema import CsvDialect
from millrace.formats.csv_texts import csv_texts, few_csv_texts, is_csv_text
from millrace.formats.tables.format_options import IGNORE, LENIENCE, Options, check_types, malformed
from millrace.formats.tables.message_reading import Numbers, Piece, in_pieces, join_pieces, transposed
from millrace.formats.text_columns import is_few
from millrace.relational.functions.registry import is_text
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.types import DataType, DecimalType

_LINE_ENDS = "\r\n"


class CsvFields:
    """Splits messages of one record each.

    :param table: its name, for errors.
    :param lenient: records with too few fields are filled up with NULL, other malformed ones left out and counted.
    """

    def __init__(self, table: str, width: int, dialect: CsvDialect, lenient: bool) -> None:
        self._table = table
        self._width = width
        self._dialect = dialect
        self._splitter = RecordSplitter(dialect)
        self._lenient = lenient

    def split(self, messages: pa.Array) -> Piece:
        """The fields of messages (binary) as columns of text. NULL, empty ones and comments have none.

        :raises ValueError: for a malformed message.
        """
        if is_few(len(messages)):
            return self._few(messages.to_pylist())
        numbers = np.arange(len(messages))
        empty = pc.equal(pc.binary_length(messages), 0).fill_null(True)
        if pc.any(empty).as_py():
            keep = pc.invert(empty)
            messages, numbers = messages.filter(keep), np.flatnonzero(np.asarray(keep))
        if self._dialect.allow_comments:
            keep = pc.invert(pc.starts_with(messages, "#"))
            messages, numbers = messages.filter(keep), numbers[np.asarray(keep)]
        return join_pieces(in_pieces(messages, numbers, self._at_once, self._one_by_one))

    def _at_once(self, messages: pa.Array) -> list[pa.Array] | None:
        try:
            return self._columns(messages)
        except (pa.ArrowException, ValueError):  # ValueError: characters that are not ASCII between the fields
            return None

    def _columns(self, messages: pa.Array) -> list[pa.Array] | None:
        """All columns; None if a message is not what pyarrow reads as Flink does."""
        count = len(messages)
        if not count:
            return [pa.array([], pa.string())] * self._width
        texts = pc.utf8_rtrim(messages.cast(pa.string()), characters=_LINE_ENDS)
        if self._is_special(texts) or pc.any(pc.starts_with(texts, "\ufeff")).as_py():
            return None
        # As each record begins with its number, none can run into the next one without being noticed.
        start = pa.array(np.arange(count)).cast(pa.string())
        text = pc.binary_join_element_wise(start, self._dialect.column_separator, texts, "\n", "")
        names = [f"f{index}" for index in range(self._width + 1)]
        table = arrow_csv.read_csv(
            pa.BufferReader(text.buffers()[2]),
            read_options=arrow_csv.ReadOptions(column_names=names, use_threads=False, block_size=text.nbytes + 1),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._dialect.column_separator,
                quote_char=self._dialect.quote_char or False,
                newlines_in_values=True,
                ignore_empty_lines=False,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), null_values=[], strings_can_be_null=False
            ),
        ).combine_chunks()
        found = [column.chunk(0) for column in table.columns]
        return found[1:] if found[0].equals(start) else None

    def _is_special(self, texts: pa.Array) -> bool:
        """Whether a message may be read in different ways: with escapes, with text after a closing quote."""
        dialect = self._dialect
        if dialect.escape_char is not None and pc.any(pc.match_substring(texts, dialect.escape_char)).as_py():
            return True
        if dialect.quote_char is None:
            return False
        quoted = pc.match_substring(texts, dialect.quote_char)
        if not pc.any(quoted).as_py():
            return False
        quote, separator = re.escape(dialect.quote_char), re.escape(dialect.column_separator)
        field = f"(?:{quote}(?:[^{quote}]|{quote}{quote})*{quote}|[^{quote}{separator}\r\n][^{separator}\r\n]*|)"
        proper = pc.match_substring_regex(texts.filter(quoted), f"^{field}(?:{separator}{field})*$")
        return not pc.all(proper).as_py()

    def _few(self, messages: list[bytes | None]) -> Piece:
        comments = self._dialect.allow_comments
        numbers = [at for at, each in enumerate(messages) if each and not (comments and each.startswith(b"#"))]
        return self._one_by_one([messages[at] or b"" for at in numbers], np.array(numbers, np.int64))

    def _one_by_one(self, messages: list[bytes], numbers: Numbers) -> Piece:
        rows: list[list[Any]] = []
        origins: list[int] = []
        for message, number in zip(messages, numbers.tolist()):
            try:
                record = self._record(message)
            except (ValueError, standard_csv.Error) as error:
                if not self._lenient:
                    raise malformed(self._table, number, message, error, LENIENCE) from error
                continue
            rows.append(record)
            origins.append(number)
        columns = [pa.array(values, pa.string()) for values in transposed(rows, self._width)]
        return Piece(columns, np.array(origins, np.int64), len(numbers) - len(rows))

    def _record(self, message: bytes) -> list[Any]:
        text = message.removeprefix(codecs.BOM_UTF8).decode("utf-8").rstrip(_LINE_ENDS)
        # An empty field that is the only one: the module would see no record at all.
        records = list(self._splitter.split([text])) if text else [[""]]
        if len(records) != 1:
            raise ValueError(f"it has {len(records)} records; a message is one")
        return fitted(records[0], self._width, lenient=self._lenient)


class CsvLines:
    """Joins columns of texts to records, one a message, without an end of line.

    :param table: its name, for errors.
    :param names: of the columns.
    """

    def __init__(self, table: str, names: list[str], dialect: CsvDialect) -> None:
        self._table = table
        self._names = names
        self._null = dialect.null_value or ""
        self._quotes = CsvQuotes(dialect)

    def join(self, columns: list[tuple[pa.Array, bool]]) -> pa.Array:
        """Messages (binary).

        :param columns: texts, NULL where the row has NULL, and whether they are text and not numbers.
        :raises ValueError: a text that cannot be written without quotes, and there are none.
        """
        fields = []
        for (texts, as_text), name in zip(columns, self._names):
            with self._naming(name):
                fields.append(self._quotes.column(texts, as_text).fill_null(self._null))
        return self._quotes.lines(fields).cast(pa.binary())

    def join_few(self, columns: list[tuple[list[str | None], bool]]) -> pa.Array:
        """``join`` of few, made one by one."""
        fields = []
        for (texts, as_text), name in zip(columns, self._names):
            with self._naming(name):
                fields.append([self._null if text is None else self._quotes.field(text, as_text) for text in texts])
        return pa.array([self._quotes.line(record).encode("utf-8") for record in zip(*fields)], pa.binary())

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """Names the column in errors."""
        try:
            yield
        except UnquotableText as error:
            raise ValueError(
                f"table {self._table}, column '{name}': {error}; set 'csv.escape-character', or do not set "
                "'csv.disable-quote-character'"
            ) from None


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
    check_types(options, FieldReaders(TABLES, None, ";").of)
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
        readers = FieldReaders(TABLES, dialect.null_value, dialect.array_separator, lenient)
        self._columns = [readers.of(columns[place].type) for place in self._wanted]
        strict = FieldReaders(TABLES, dialect.null_value, dialect.array_separator)
        of_blocks = [strict.of(columns[place].type) for place in self._wanted]
        self._blocks = CsvBlocks(of_blocks, self._wanted, len(columns), dialect)

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
        texts = [
            (text(array, column.type), is_csv_text(column.type)) for column, array in zip(self._columns, rows.columns)
        ]
        return self._lines.join_few(texts) if few else self._lines.join(texts)

    def _texts(self, array: pa.Array, kind: DataType) -> pa.Array:
        null, separator = self._dialect.null_value or "", self._dialect.array_separator
        return csv_texts(array, kind, null, separator, self._exponents)

    def _few_texts(self, array: pa.Array, kind: DataType) -> list[str | None]:
        """CSV texts of few values, made one by one, which is then faster than by columns."""
        null, separator = self._dialect.null_value or "", self._dialect.array_separator
        return few_csv_texts(array, kind, null, separator, self._exponents)


COMMENT = "comment-prefix"


FIRST_LINE = "ignore-first-line"


class OlderCsvFactory(FormatFactory):
    identifier = "csv"
    optional = (DELIMITER, QUOTE, COMMENT, NULL, FIRST_LINE, IGNORE)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        comment = options.text(COMMENT)
        return OlderCsvDecoding(
            table.table,
            table.columns,
            _older_dialect(options),
            comment.encode() if comment else None,
            options.flag(IGNORE),
        )

    def encoding(self, table: FormatContext) -> EncodingFormat:
        return OlderCsvEncoding(table.table, table.columns, _older_dialect(Options(self.identifier, table)), False)


def _older_dialect(options: Options) -> CsvDialect:
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

    def __init__(self, table: str, columns: Schema, dialect: CsvDialect, comment: bytes | None, lenient: bool) -> None:
        self._table = table
        self._names = [column.name for column in columns]
        self._separator, self._quote = dialect.column_separator, dialect.quote_char
        self._comment = comment
        self._lenient = lenient
        self._texts = [is_text(column.type) and dialect.null_value is None for column in columns]
        readers = FieldReaders(TABLES, dialect.null_value, ";", lenient)
        self._columns = [readers.of(column.type) for column in columns]

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
