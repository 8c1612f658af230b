"""CSV messages as columns of text, and back."""

from __future__ import annotations

import csv as standard_csv
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from millrace.formats.csv_schema import CsvDialect
from millrace.formats.csv_text import reader_options
from millrace.formats.tables.pieces import Numbers, Piece, in_pieces, is_few, joined, turned
from millrace.formats.tables.problems import LENIENCE, malformed

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
        return joined(in_pieces(messages, numbers, self._at_once, self._one_by_one))

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
        if self._is_special(texts):
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
        columns = [pa.array(values, pa.string()) for values in turned(rows, self._width)]
        return Piece(columns, np.array(origins, np.int64), len(numbers) - len(rows))

    def _record(self, message: bytes) -> list[Any]:
        text = message.decode("utf-8").rstrip(_LINE_ENDS)
        # An empty field that is the only one: the module would see no record at all.
        records = list(standard_csv.reader([text], **reader_options(self._dialect))) if text else [[""]]
        if len(records) != 1:
            raise ValueError(f"it has {len(records)} records; a message is one")
        record: list[Any] = records[0]
        few = len(record) < self._width
        if len(record) != self._width and not (few and self._lenient):
            raise ValueError(f"{self._width} fields expected, but there are {len(record)}")
        return record + [None] * (self._width - len(record))


class CsvLines:
    """Joins columns of texts to records, one a message, without an end of line.

    :param table: its name, for errors.
    :param names: of the columns.
    """

    def __init__(self, table: str, names: list[str], dialect: CsvDialect) -> None:
        self._table = table
        self._names = names
        self._dialect = dialect
        special = [dialect.column_separator, dialect.quote_char, dialect.escape_char, "\n", "\r"]
        self._special = f"[{''.join(re.escape(char) for char in special if char)}]"
        self._is_special = re.compile(self._special).search
        # Java's library quotes text that is long, or that has any character up to the greater of separator and quote.
        last = max(dialect.column_separator, dialect.quote_char or "\r")
        self._loosely = f"^(?:.{{25,}}|[^\\x00-\\x{{{ord(last):x}}}]*[\\x00-\\x{{{ord(last):x}}}])|{self._special}"
        self._is_loose = re.compile(f"[\\x00-{re.escape(last)}]|{self._special}").search

    def join(self, columns: list[tuple[pa.Array, bool]]) -> pa.Array:
        """Messages (binary).

        :param columns: texts, NULL where the row has NULL, and whether they are text and not numbers.
        :raises ValueError: a text that cannot be written without quotes, and there are none.
        """
        null = self._dialect.null_value or ""
        fields = [
            self._safe(texts, is_text, name).fill_null(null) for (texts, is_text), name in zip(columns, self._names)
        ]
        if len(fields) == 1 and self._dialect.quote_char:
            # An empty message would be no record.
            fields = [pc.if_else(pc.equal(fields[0], ""), self._dialect.quote_char * 2, fields[0])]
        return pc.binary_join_element_wise(*fields, self._dialect.column_separator).cast(pa.binary())

    def join_few(self, columns: list[tuple[list[str | None], bool]]) -> pa.Array:
        """``join`` of few, made one by one."""
        null = self._dialect.null_value or ""
        fields = [
            [null if text is None else self._safe_one(text, is_text, name) for text in texts]
            for (texts, is_text), name in zip(columns, self._names)
        ]
        if len(fields) == 1 and self._dialect.quote_char:
            fields = [[text or self._dialect.quote_char * 2 for text in fields[0]]]
        separator = self._dialect.column_separator
        return pa.array([separator.join(record).encode("utf-8") for record in zip(*fields)], pa.binary())

    def _safe_one(self, text: str, is_text: bool, name: str) -> str:
        quote, escape = self._dialect.quote_char, self._dialect.escape_char
        if is_text and quote:
            if len(text) < 25 and self._is_loose(text) is None:
                return text
        elif self._is_special(text) is None:
            return text
        if quote is None and escape is None:
            raise self._unsafe(text, name)
        if quote is None:
            return re.sub(self._special, lambda found: f"{escape}{found[0]}", text)
        if escape is not None:
            text = text.replace(escape, escape * 2)
        return f"{quote}{text.replace(quote, quote * 2)}{quote}"

    def _unsafe(self, shown: str, name: str) -> ValueError:
        return ValueError(
            f"table {self._table}, column '{name}': {shown!r} holds the field delimiter or an end of line and "
            "there is no quote character; set 'csv.escape-character', or do not set 'csv.disable-quote-character'"
        )

    def _safe(self, texts: pa.Array, is_text: bool, name: str) -> pa.Array:
        quote, escape = self._dialect.quote_char, self._dialect.escape_char
        mask = pc.match_substring_regex(texts, self._loosely if is_text and quote else self._special)
        if not pc.any(mask).as_py():
            return texts
        if quote is None and escape is None:
            raise self._unsafe(texts.filter(mask)[0].as_py(), name)
        if quote is None:
            changed = pc.replace_substring_regex(texts, f"({self._special})", re.escape(str(escape)) + r"\1")
            return pc.if_else(mask, changed, texts)
        changed = texts if escape is None else pc.replace_substring(texts, escape, escape * 2)
        changed = pc.replace_substring(changed, quote, quote * 2)
        return pc.if_else(mask, pc.binary_join_element_wise(quote, changed, quote, ""), texts)
