"""Text, hashes, regular expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from millrace.table.expression_methods.base import Unary, _Handle, built_in, present
from millrace.table.sql import nodes

if TYPE_CHECKING:
    from millrace.table.expression_methods.expression import Expression

Text: TypeAlias = "str | Expression[Any]"
Number: TypeAlias = "int | Expression[Any]"


class _Strings(_Handle):
    char_length = Unary("CHAR_LENGTH", "charLength")
    upper_case = Unary("UPPER", "upper")
    lower_case = Unary("LOWER", "lower")
    init_cap = Unary("INITCAP", "initCap", doc="Each word with a capital at its beginning.")
    from_base64 = Unary("FROM_BASE64", "fromBase64")
    to_base64 = Unary("TO_BASE64", "toBase64")
    ascii = Unary("ASCII", "ascii", doc="The number of the first character.")
    chr = Unary("CHR", "chr", doc="The character of this number.")
    reverse = Unary("REVERSE", "reverse")
    md5 = Unary("MD5", "md5")
    sha1 = Unary("SHA1", "sha1")
    sha224 = Unary("SHA224", "sha224")
    sha256 = Unary("SHA256", "sha256")
    sha384 = Unary("SHA384", "sha384")
    sha512 = Unary("SHA512", "sha512")

    def sha2(self, hash_length: Number) -> Expression[Any]:
        """The SHA-2 hash of 224, 256, 384 or 512 bits."""
        return self._apply("SHA2", "sha2", hash_length)

    def concat(self, other: Text) -> Expression[Any]:
        """This text and another behind it.

            >>> next(orders.select(col("name").concat("!")).execute().collect())
            <Row('Ann!')>
        """
        return self._apply("CONCAT", "concat", other)

    def starts_with(self, start_expr: Any) -> Expression[Any]:
        """Whether the text begins with another."""
        return self._apply("STARTSWITH", "STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Expression[Any]:
        """Whether the text ends with another."""
        return self._apply("ENDSWITH", "ENDSWITH", end_expr)

    def substring(self, begin_index: Number, length: Number | None = None) -> Expression[Any]:
        """A part from a position, counted from 1."""
        return self._apply("SUBSTRING", "substring", begin_index, *present(length))

    def substr(self, begin_index: Number, length: Number | None = None) -> Expression[Any]:
        """As ``substring``."""
        return self._apply("SUBSTR", "substr", begin_index, *present(length))

    def trim_leading(self, character: Text | None = None) -> Expression[Any]:
        """Without such characters (blanks by default) at the beginning."""
        return self._trim("LEADING", character)

    def trim_trailing(self, character: Text | None = None) -> Expression[Any]:
        """Without these characters at the right, by default blanks."""
        return self._trim("TRAILING", character)

    def trim(self, character: Text | None = None) -> Expression[Any]:
        """Without these characters at both ends, by default blanks."""
        return self._trim("BOTH", character)

    def _trim(self, side: str, character: Text | None) -> Expression[Any]:
        what = " " if character is None else character
        return self._new(built_in("TRIM", "trim", nodes.Var(side), what, self._node))

    def ltrim(self, trim_str: Any = None) -> Expression[Any]:
        """Without these characters at the left, by default blanks."""
        return self._apply("LTRIM", "ltrim", *present(trim_str))

    def rtrim(self, trim_str: Any = None) -> Expression[Any]:
        """Without these characters at the right, by default blanks."""
        return self._apply("RTRIM", "rtrim", *present(trim_str))

    def btrim(self, trim_str: Any = None) -> Expression[Any]:
        """Without these characters at both ends, by default blanks."""
        return self._apply("BTRIM", "BTRIM", *present(trim_str))

    def replace(self, search: Text | None = None, replacement: Text | None = None) -> Expression[Any]:
        """Every occurrence of a text replaced by another.

            >>> next(orders.select(col("name").replace("nn", "n")).execute().collect())
            <Row('An')>
        """
        return self._apply("REPLACE", "replace", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Expression[Any]:
        """Each character of the one text replaced by that at its place in the other."""
        return self._apply("TRANSLATE", "TRANSLATE3", from_str, to_str)

    def like(self, pattern: Text | None = None, escape: Any = None) -> Expression[Any]:
        """The text fits a pattern: ``%`` is any text, ``_`` one character.

            >>> list(orders.filter(col("product").like("p%")).select(col("product")).execute().collect())
            [<Row('pen')>, <Row('pen')>]
        """
        return self._apply("LIKE", "LIKE", pattern, *present(escape))

    def similar(self, pattern: Text | None = None) -> Expression[Any]:
        """Whether the text as a whole fits a regular expression of SQL."""
        return self._apply("SIMILAR TO", "similar", pattern)

    def position(self, haystack: Text | None = None) -> Expression[Any]:
        """Where this text is in another one, from 1; 0 if it is not.

            >>> next(orders.select(lit("n").position(col("name"))).execute().collect())
            <Row(2)>
        """
        return self._apply("POSITION", "position", haystack)

    def lpad(self, length: Number, pad: Text) -> Expression[Any]:
        """As long as said, filled or cut at the left."""
        return self._apply("LPAD", "lpad", length, pad)

    def rpad(self, length: Number, pad: Text) -> Expression[Any]:
        """As long as said, filled or cut at the right."""
        return self._apply("RPAD", "rpad", length, pad)

    def overlay(self, new_string: Text, starting: Number, length: Number | None = None) -> Expression[Any]:
        """With a part replaced, from a position on."""
        return self._apply("OVERLAY", "overlay", new_string, starting, *present(length))

    def regexp(self, regex: Text) -> Expression[Any]:
        """Whether a regular expression of Java fits somewhere."""
        return self._apply("REGEXP", "regexp", regex)

    def regexp_count(self, regex: Any) -> Expression[Any]:
        """How often a regular expression fits."""
        return self._apply("REGEXP_COUNT", "REGEXP_COUNT", regex)

    def regexp_replace(self, regex: Text, replacement: Text) -> Expression[Any]:
        """Every match of a regular expression replaced."""
        return self._apply("REGEXP_REPLACE", "regexpReplace", regex, replacement)

    def regexp_extract(self, regex: Text, extract_index: Number | None = None) -> Expression[Any]:
        """What a group has in the first match; 0 is the whole match."""
        return self._apply("REGEXP_EXTRACT", "regexpExtract", regex, *present(extract_index))

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Expression[Any]:
        """What a group has in each match, as an array."""
        return self._apply("REGEXP_EXTRACT_ALL", "REGEXP_EXTRACT_ALL", regex, *present(extract_index))

    def regexp_instr(self, regex: Any) -> Expression[Any]:
        """Where the first match begins, counted from 1; 0: nowhere."""
        return self._apply("REGEXP_INSTR", "REGEXP_INSTR", regex)

    def regexp_substr(self, regex: Any) -> Expression[Any]:
        """The first match."""
        return self._apply("REGEXP_SUBSTR", "REGEXP_SUBSTR", regex)

    def decode(self, charset: Text) -> Expression[Any]:
        """Bytes of a character set as text.

            >>> next(orders.select(col("name").encode("UTF-8").decode("UTF-8")).execute().collect())
            <Row('Ann')>
        """
        return self._apply("DECODE", "decode", charset)

    def encode(self, charset: Text) -> Expression[Any]:
        """The text as bytes of a character set.

            >>> next(orders.select(col("name").encode("UTF-8")).execute().collect())
            <Row(b'Ann')>
        """
        return self._apply("ENCODE", "encode", charset)

    def left(self, length: Number) -> Expression[Any]:
        """The first characters.

            >>> next(orders.select(col("name").left(1)).execute().collect())
            <Row('A')>
        """
        return self._apply("LEFT", "left", length)

    def right(self, length: Number) -> Expression[Any]:
        """The last characters.

            >>> next(orders.select(col("name").right(2)).execute().collect())
            <Row('nn')>
        """
        return self._apply("RIGHT", "right", length)

    def instr(self, s: Text) -> Expression[Any]:
        """Where the text has another, counted from 1; 0: nowhere."""
        return self._apply("INSTR", "instr", s)

    def locate(self, s: Text, pos: Number | None = None) -> Expression[Any]:
        """Where this text is in another one, looked for from a position on."""
        return self._apply("LOCATE", "locate", s, *present(pos))

    def url_decode(self) -> Expression[Any]:
        """The text of a part of an address; NULL if it is none."""
        return self._apply("URL_DECODE", "URL_DECODE")

    def url_encode(self) -> Expression[Any]:
        """The text as part of an address."""
        return self._apply("URL_ENCODE", "URL_ENCODE")

    def inet_aton(self) -> Expression[Any]:
        """The number of an IPv4 address."""
        return self._apply("INET_ATON", "INET_ATON")

    def inet_ntoa(self) -> Expression[Any]:
        """The IPv4 address of a number."""
        return self._apply("INET_NTOA", "INET_NTOA")

    def parse_url(self, part_to_extract: Text, key: Text | None = None) -> Expression[Any]:
        """A part of an address: HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY, USERINFO."""
        return self._apply("PARSE_URL", "parseUrl", part_to_extract, *present(key))

    def printf(self, *obj: Any) -> Expression[Any]:
        """The text as format of Java's ``String.format``, with these values."""
        return self._apply("PRINTF", "PRINTF", *obj)

    def repeat(self, n: Number) -> Expression[Any]:
        """The text so many times."""
        return self._apply("REPEAT", "repeat", n)

    def split_index(self, separator: Text, index: Number) -> Expression[Any]:
        """The part at a position, counted from 0, of a text that is split at a separator."""
        return self._apply("SPLIT_INDEX", "splitIndex", separator, index)

    def split(self, delimiter: Any) -> Expression[Any]:
        """The parts between separators, as an array.

            >>> next(orders.select(lit("a,b").split(",")).execute().collect())
            <Row(['a', 'b'])>
        """
        return self._apply("SPLIT", "SPLIT", delimiter)

    def str_to_map(
        self, list_delimiter: Text | None = None, key_value_delimiter: Text | None = None
    ) -> Expression[Any]:
        """A map of text, by the delimiters of pairs, and of key and value."""
        return self._apply("STR_TO_MAP", "strToMap", *present(list_delimiter, key_value_delimiter))
