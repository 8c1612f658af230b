"""What all groups of expression methods build on: the node of the unbound tree, and the words that some functions take
(units of time, ways to treat errors in JSON). And the methods of ``Expression`` about single values: arithmetic,
comparison, logic, text, hashes, regular expressions, dates, times and spans of time. Each makes one node of the
unbound tree.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from millrace.common.types import Row
from millrace.relational.nodes import Rel
from millrace.relational.types import DateType, DayTimeIntervalType, TimestampType, TimeType, YearMonthIntervalType
from millrace.table.sql import nodes
from millrace.table.values.program_errors import problem
from millrace.util.exceptions import TableException
from millrace.util.fallback import older_expressions
from millrace.util.tracebacks import user_origin

if TYPE_CHECKING:
    from millrace.table.expression_methods.expression import Expression


# Words that functions take


class TimeIntervalUnit(Enum):
    """Units of a time span, for ``extract``, ``floor`` and ``ceil``.

    >>> next(clicks.select(col("at").extract(TimeIntervalUnit.MINUTE)).execute().collect())
    <Row(20)>
    """

    YEAR = (0,)
    YEAR_TO_MONTH = (1,)
    QUARTER = (2,)
    MONTH = (3,)
    WEEK = (4,)
    DAY = (5,)
    DAY_TO_HOUR = (6,)
    DAY_TO_MINUTE = (7,)
    DAY_TO_SECOND = (8,)
    HOUR = (9,)
    SECOND = (10,)
    HOUR_TO_MINUTE = (11,)
    HOUR_TO_SECOND = (12,)
    MINUTE = (13,)
    MINUTE_TO_SECOND = 14


class TimePointUnit(Enum):
    """Units of a difference, for ``timestamp_diff``.

    >>> hours = timestamp_diff(TimePointUnit.HOUR, col("at"), lit("1970-01-02 00:00:00").to_timestamp)
    >>> next(clicks.select(hours).execute().collect())
    <Row(23)>
    """

    YEAR = (0,)
    MONTH = (1,)
    DAY = (2,)
    HOUR = (3,)
    MINUTE = (4,)
    SECOND = (5,)
    QUARTER = (6,)
    WEEK = (7,)
    MILLISECOND = (8,)
    MICROSECOND = 9


class JsonType(Enum):
    """Kinds of JSON, for ``is_json``.

    >>> next(orders.select(lit("[1]").is_json(JsonType.ARRAY)).execute().collect())
    <Row(True)>
    """

    VALUE = (0,)
    SCALAR = (1,)
    ARRAY = (2,)
    OBJECT = 3


class JsonExistsOnError(Enum):
    """What ``json_exists`` says of a wrong path.

    >>> next(orders.select(lit('{"a": 1}').json_exists("$.a", JsonExistsOnError.FALSE)).execute().collect())
    <Row(True)>
    """

    TRUE = (0,)
    FALSE = (1,)
    UNKNOWN = (2,)
    ERROR = 3


class JsonValueOnEmptyOrError(Enum):
    """What ``json_value`` gives where there is no value, or an error.

    >>> value = lit('{"a": 1}').json_value("lax $.b", DataTypes.INT(), JsonValueOnEmptyOrError.DEFAULT, 0)
    >>> next(orders.select(value).execute().collect())
    <Row(0)>
    """

    NULL = (0,)
    ERROR = (1,)
    DEFAULT = 2


class JsonQueryWrapper(Enum):
    """When ``json_query`` puts what it finds into an array.

    >>> inside = lit('{"a": 1}').json_query("$.a", JsonQueryWrapper.UNCONDITIONAL_ARRAY)
    >>> next(orders.select(inside).execute().collect())
    <Row('[1]')>
    """

    WITHOUT_ARRAY = (0,)
    CONDITIONAL_ARRAY = (1,)
    UNCONDITIONAL_ARRAY = 2


class JsonQueryOnEmptyOrError(Enum):
    """What ``json_query`` gives where there is nothing, or an error.

    >>> empty = JsonQueryOnEmptyOrError.EMPTY_ARRAY
    >>> inside = lit("{}").json_query("lax $.a", JsonQueryWrapper.WITHOUT_ARRAY, empty)
    >>> next(orders.select(inside).execute().collect())
    <Row('[]')>
    """

    NULL = (0,)
    EMPTY_ARRAY = (1,)
    EMPTY_OBJECT = (2,)
    ERROR = 3


class JsonOnNull(Enum):
    """Whether NULLs get into the JSON that ``json_object`` and its like make.

    >>> next(orders.select(json_array(JsonOnNull.ABSENT, 1, null_of(DataTypes.INT()))).execute().collect())
    <Row('[1]')>
    """

    NULL = (0,)
    ABSENT = 1


# The unbound tree


class _Handle:
    """A handle on one node of an unbound expression."""

    _node: nodes.Node

    def _new(self, node: nodes.Node) -> Expression[Any]:
        """An expression with this node."""
        raise NotImplementedError

    def _apply(self, function: str, shown: str, *args: Any) -> Expression[Any]:
        """A call of a built-in function, of which this is the first argument."""
        return self._new(built_in(function, shown, self._node, *args))


class _Rows:
    """A handle on a query, whose rows expressions can look into."""

    _plan: Rel


class Unary(property):
    """A property that calls a function on the expression."""

    def __init__(self, function: str, shown: str = "", doc: str = "") -> None:
        super().__init__(
            lambda handle: handle._apply(function, shown or function), doc=doc or f"{function} of this expression."
        )

    if TYPE_CHECKING:

        def __get__(  # type: ignore[override]
            self, instance: Any, owner: type | None = None
        ) -> Expression[Any]: ...


def built_in(function: str, shown: str, *args: Any) -> nodes.BuiltIn:
    """A call of a built-in function by its name in the registry; ``shown``: its name in Flink's texts."""
    return nodes.BuiltIn(function, tuple(map(node_of, args)), shown)


def present(*args: Any) -> list[Any]:
    """The arguments before the first one that is None: what optional parameters were given."""
    found = []
    for arg in args:
        if arg is None:
            break
        found.append(arg)
    return found


def expression_of(given: Any) -> nodes.Node:
    """The node of what stands where a column is expected.

    :raises TableException: text, which would be a constant.
    """
    found = expressions_of((given,))
    if len(found) != 1:
        raise problem(f"{given!r} is {len(found)} expressions, where one is expected")
    return found[0]


def expressions_of(given: Iterable[Any]) -> list[nodes.Node]:
    """The nodes of what stands where columns are expected.

    :raises TableException: text, which would be a constant.
    """
    return [node for each in given for node in ([node_of(each)] if not isinstance(each, str) else _of_text(each))]


def _of_text(text: str) -> list[nodes.Node]:
    found = older_expressions(text)
    if found is None:
        raise problem(
            f"{text!r} is text, not an expression: a column is col('name'), SQL call_sql('...'), a constant lit('...')"
        )
    return [node_of(each) for each in found]


def node_of(value: Any) -> nodes.Node:
    """The node of an expression, or of a Python value."""
    if isinstance(value, _Handle):
        return value._node
    if isinstance(value, nodes.Node):
        return value
    if isinstance(value, Row):
        return built_in("ROW", "row", *value)
    if isinstance(value, (list, tuple)):
        return built_in("ARRAY", "array", *value)
    if isinstance(value, Mapping):
        return built_in("MAP", "map", *(part for pair in value.items() for part in pair))
    return nodes.Constant(value)


# Numbers and logic


class _Numbers(_Handle):
    exp = Unary("EXP", "exp")
    log10 = Unary("LOG10", "log10")
    log2 = Unary("LOG2", "log2")
    ln = Unary("LN", "ln")
    cosh = Unary("COSH", "cosh")
    sinh = Unary("SINH", "sinh")
    sin = Unary("SIN", "sin")
    cos = Unary("COS", "cos")
    tan = Unary("TAN", "tan")
    cot = Unary("COT", "cot")
    asin = Unary("ASIN", "asin")
    acos = Unary("ACOS", "acos")
    atan = Unary("ATAN", "atan")
    tanh = Unary("TANH", "tanh")
    degrees = Unary("DEGREES", "degrees", doc="Radians as degrees.")
    radians = Unary("RADIANS", "radians", doc="Degrees as radians.")
    sqrt = Unary("SQRT", "sqrt")
    abs = Unary("ABS", "abs")
    sign = Unary("SIGN", "sign")
    bin = Unary("BIN", "bin", doc="The binary digits of a whole number.")
    hex = Unary("HEX", "hex", doc="A number or text in hexadecimal digits.")
    unhex = Unary("UNHEX", "UNHEX", doc="The bytes that hexadecimal digits stand for.")
    is_null = Unary("IS NULL", "isNull", doc="Whether the value is NULL.")
    is_not_null = Unary("IS NOT NULL", "isNotNull", doc="Whether the value is not NULL.")
    is_true = Unary("IS TRUE", "isTrue", doc="TRUE for TRUE only.")
    is_false = Unary("IS FALSE", "isFalse", doc="TRUE for FALSE only.")
    is_not_true = Unary("IS NOT TRUE", "isNotTrue", doc="TRUE for FALSE and NULL.")
    is_not_false = Unary("IS NOT FALSE", "isNotFalse", doc="TRUE for TRUE and NULL.")

    def __abs__(self) -> Expression[Any]:
        return self.abs

    def __eq__(self, other: object) -> Expression[Any]:  # type: ignore[override]
        return self._apply("=", "equals", other)

    def __ne__(self, other: object) -> Expression[Any]:  # type: ignore[override]
        return self._apply("<>", "notEquals", other)

    def __lt__(self, other: Any) -> Expression[Any]:
        return self._apply("<", "lessThan", other)

    def __gt__(self, other: Any) -> Expression[Any]:
        return self._apply(">", "greaterThan", other)

    def __le__(self, other: Any) -> Expression[Any]:
        return self._apply("<=", "lessThanOrEqual", other)

    def __ge__(self, other: Any) -> Expression[Any]:
        return self._apply(">=", "greaterThanOrEqual", other)

    def __and__(self, other: Any) -> Expression[Any]:
        return self._apply("AND", "and", other)

    def __or__(self, other: Any) -> Expression[Any]:
        return self._apply("OR", "or", other)

    def __rand__(self, other: Any) -> Expression[Any]:
        return self.__and__(other)

    def __ror__(self, other: Any) -> Expression[Any]:
        return self.__or__(other)

    def __invert__(self) -> Expression[Any]:
        """As in PyFlink: TRUE for FALSE and NULL. ``not_`` keeps NULL."""
        return self.is_not_true

    def __add__(self, other: Any) -> Expression[Any]:
        return self._apply("+", "plus", other)

    def __sub__(self, other: Any) -> Expression[Any]:
        return self._apply("-", "minus", other)

    def __mul__(self, other: Any) -> Expression[Any]:
        return self._apply("*", "times", other)

    def __truediv__(self, other: Any) -> Expression[Any]:
        return self._apply("/", "divide", other)

    def __mod__(self, other: Any) -> Expression[Any]:
        return self._apply("%", "mod", other)

    def __pow__(self, other: Any) -> Expression[Any]:
        return self._apply("POWER", "power", other)

    def __neg__(self) -> Expression[Any]:
        return self._new(nodes.Neg(self._node))

    def __pos__(self) -> Expression[Any]:
        return self._new(self._node)

    def _on_the_right(self, other: Any) -> Expression[Any]:
        return self._new(node_of(other))

    def __radd__(self, other: Any) -> Expression[Any]:
        return self._on_the_right(other) + self

    def __rsub__(self, other: Any) -> Expression[Any]:
        return self._on_the_right(other) - self

    def __rmul__(self, other: Any) -> Expression[Any]:
        return self.__mul__(other)

    def __rtruediv__(self, other: Any) -> Expression[Any]:
        return self._on_the_right(other) / self

    def __rmod__(self, other: Any) -> Expression[Any]:
        return self._on_the_right(other) % self

    def __rpow__(self, other: Any) -> Expression[Any]:
        return self._on_the_right(other) ** self

    def log(self, base: Any = None) -> Expression[Any]:
        """The natural logarithm, or that to a base.

        >>> next(orders.select(lit(8).log(2)).execute().collect())
        <Row(3.0)>
        """
        return self._new(built_in("LOG", "log", *present(base), self._node))

    def round(self, places: int | Expression[Any]) -> Expression[Any]:
        """Rounded to ``places`` digits after the point."""
        return self._apply("ROUND", "round", places)

    def truncate(self, n: int | Expression[Any] = 0) -> Expression[Any]:
        """Cut to ``n`` digits after the point."""
        return self._apply("TRUNCATE", "truncate", n)

    def between(self, lower_bound: Any, upper_bound: Any) -> Expression[Any]:
        """Whether the value lies within the bounds, both included.

        >>> list(orders.filter(col("amount").between(2, 3)).select(col("amount")).execute().collect())
        [<Row(2)>, <Row(3)>]
        """
        return self._new(nodes.Between(self._node, node_of(lower_bound), node_of(upper_bound)))

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Expression[Any]:
        """Outside of the bounds."""
        return self._new(nodes.Not(self.between(lower_bound, upper_bound)._node))

    def then(self, if_true: Any, if_false: Any) -> Expression[Any]:
        """One value where this condition is TRUE, else the other."""
        return self._new(nodes.Case(ifs=(nodes.If(self._node, node_of(if_true)),), default=node_of(if_false)))

    def if_null(self, null_replacement: Any) -> Expression[Any]:
        """This value, or a replacement for NULL."""
        return self._apply("IFNULL", "IFNULL", null_replacement)

    def elt(self, expr: Any, *exprs: Any) -> Expression[Any]:
        """The argument at this position, counted from 1."""
        return self._apply("ELT", "ELT", expr, *exprs)

    def percentile(self, percentage: Any, frequency: Any = None) -> Expression[Any]:
        """The exact percentile (an aggregate), with how often each value counts."""
        return self._apply("PERCENTILE", "PERCENTILE", percentage, *present(frequency))


# Text

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


# Times

MONTHS = YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution.MONTH, 2, False)
MILLIS = DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution.SECOND, 2, 3, False)


class _Span(property):
    """A property that makes a span of time of a constant number."""

    def __init__(self, unit: str, months: int = 0, millis: int = 0) -> None:
        super().__init__(lambda handle: _span(handle, unit, months, millis), doc=f"A span of this many {unit}s.")

    if TYPE_CHECKING:

        def __get__(  # type: ignore[override]
            self, instance: object, owner: type | None = None
        ) -> Expression[Any]: ...


def _span(handle: _Handle, unit: str, months: int, millis: int) -> Expression[Any]:
    node = handle._node
    number = node.value if isinstance(node, nodes.Constant) else None
    if not isinstance(number, (int, float, Decimal)) or isinstance(number, bool):
        raise TableException(
            f"{user_origin()}: a span of {unit}s is made of a constant number, as in lit(5).{unit}s, not of {handle}"
        )
    if months:
        return handle._new(nodes.Constant(int(number * months), MONTHS))
    return handle._new(nodes.Constant(datetime.timedelta(milliseconds=float(number * millis)), MILLIS))


class _Times(_Handle):
    year = years = _Span("year", months=12)
    quarter = quarters = _Span("quarter", months=3)
    month = months = _Span("month", months=1)
    week = weeks = _Span("week", millis=7 * 86_400_000)
    day = days = _Span("day", millis=86_400_000)
    hour = hours = _Span("hour", millis=3_600_000)
    minute = minutes = _Span("minute", millis=60_000)
    second = seconds = _Span("second", millis=1_000)
    milli = millis = _Span("milli", millis=1)

    @property
    def to_date(self) -> Expression[Any]:
        """Text as a DATE."""
        return self._new(nodes.Cast(self._node, nodes.TypeName(DateType())))

    @property
    def to_time(self) -> Expression[Any]:
        """Text as a TIME."""
        return self._new(nodes.Cast(self._node, nodes.TypeName(TimeType(0))))

    @property
    def to_timestamp(self) -> Expression[Any]:
        """Text as a TIMESTAMP(3)."""
        return self._new(nodes.Cast(self._node, nodes.TypeName(TimestampType(3))))

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Expression[Any]:
        """One part of a point in time, as a number."""
        return self._new(built_in("EXTRACT", "extract", nodes.Var(time_interval_unit.name), self._node))

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """The largest whole number, or beginning of a unit of time, that is not greater."""
        return self._rounded("FLOOR", time_interval_unit)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """The smallest whole number, or beginning of a unit of time, that is not less."""
        return self._rounded("CEIL", time_interval_unit)

    def _rounded(self, function: str, unit: TimeIntervalUnit | None) -> Expression[Any]:
        return self._apply(function, function.lower(), *([] if unit is None else [nodes.Var(unit.name)]))

    @property
    def start(self) -> Expression[Any]:
        """The beginning of a window, by its alias."""
        return self._new(nodes.WindowProperty(self._node, "START"))

    @property
    def end(self) -> Expression[Any]:
        """The end of a window, which does not belong to it."""
        return self._new(nodes.WindowProperty(self._node, "END"))

    @property
    def rowtime(self) -> Expression[Any]:
        """The event time attribute of a window, or this column as one."""
        return self._new(nodes.WindowProperty(self._node, "ROWTIME"))

    @property
    def proctime(self) -> Expression[Any]:
        """The processing time attribute of a window, or this column as one."""
        return self._new(nodes.WindowProperty(self._node, "PROCTIME"))
