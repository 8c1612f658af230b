"""Lines of CSV as Java's library writes them, for streams and for tables: which fields are quoted or escaped, and how.

Text is quoted if it is long or has a backslash or any character up to the greater of separator and quote, other fields
where a reader would not get them back otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.csv_schema import CsvDialect

_LONG = 25
"""characters"""


class UnquotableText(ValueError):
    """A field that cannot be written: it needs quotes, and the dialect has neither quotes nor escapes.

    :ivar text: the field.
    """

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} holds the field delimiter or an end of line and there is no quote character")
        self.text = text


class CsvQuotes:
    """Makes fields safe, one by one or a column at once, and joins them to lines without an end."""

    def __init__(self, dialect: CsvDialect) -> None:
        self._separator, self._quote, self._escape = dialect.column_separator, dialect.quote_char, dialect.escape_char
        special = "".join(map(re.escape, filter(None, (self._separator, self._quote, self._escape, "\n", "\r"))))
        self._special = f"[{special}]"
        self._is_special = re.compile(self._special).search
        last = max(self._separator, self._quote or "\r")
        # For Arrow, whose dot is no end of line.
        low = f"\\x00-\\x{{{ord(last):x}}}\\\\"
        self._loose = f"^(?:.{{{_LONG},}}|[^{low}]*[{low}])|{self._special}"
        self._is_loose = re.compile(f"[\\x00-{re.escape(last)}\\\\]|{self._special}").search

    def line(self, fields: Sequence[str]) -> str:
        """A line of safe fields."""
        if len(fields) == 1 and not fields[0] and self._quote:
            return self._quote * 2  # an empty line would be no record
        return self._separator.join(fields)

    def lines(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Lines of columns of safe fields, none of them NULL."""
        if len(columns) == 1 and self._quote:
            columns = [pc.if_else(pc.equal(columns[0], ""), self._quote * 2, columns[0])]
        return pc.binary_join_element_wise(*columns, self._separator)

    def field(self, text: str, is_text: bool) -> str:
        """A field that a reader gets back.

        :param is_text: whether Java's library writes the value as text, and not as a number.
        :raises UnquotableText: there is no way to write it.
        """
        quote, escape = self._quote, self._escape
        if is_text and quote:
            if len(text) < _LONG and self._is_loose(text) is None:
                return text
        elif self._is_special(text) is None:
            return text
        if quote is None and escape is None:
            raise UnquotableText(text)
        if quote is None:
            return re.sub(self._special, lambda found: f"{escape}{found[0]}", text)
        if escape is not None:
            text = text.replace(escape, escape * 2)
        return f"{quote}{text.replace(quote, quote * 2)}{quote}"

    def column(self, texts: pa.Array, is_text: bool) -> pa.Array:
        """``field`` of each text; NULL stays NULL.

        :raises UnquotableText: there is no way to write one.
        """
        quote, escape = self._quote, self._escape
        mask = pc.match_substring_regex(texts, self._loose if is_text and quote else self._special)
        if not pc.any(mask).as_py():
            return texts
        if quote is None and escape is None:
            raise UnquotableText(texts.filter(mask)[0].as_py())
        if quote is None:
            changed = pc.replace_substring_regex(texts, f"({self._special})", re.escape(str(escape)) + r"\1")
            return pc.if_else(mask, changed, texts)
        changed = texts if escape is None else pc.replace_substring(texts, escape, escape * 2)
        changed = pc.replace_substring(changed, quote, quote * 2)
        return pc.if_else(mask, pc.binary_join_element_wise(quote, changed, quote, ""), texts)
