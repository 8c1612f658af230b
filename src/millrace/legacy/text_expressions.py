"""Parses expressions as text, which Flink used before ``col("a")``: ``"word, count(1) as c"``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.legacy.warning import tell
from millrace.relational.types import DataType
from millrace.table import expressions as today
from millrace.table.expression_methods.expression import Expression
from millrace.table.expression_methods.windows import CURRENT_RANGE, CURRENT_ROW, UNBOUNDED_RANGE, UNBOUNDED_ROW
from millrace.table.expressions import and_, call, col, lit, negative, not_, null_of, or_, row_interval
from millrace.table.types import DataTypes
from millrace.table.values.data_types import data_type_of
from millrace.table.values.program_errors import problem

__all__ = ["END", "Token", "constant_of", "function_of", "read_expressions", "suffix_of", "tokens_of", "type_of"]


_PATTERNS = (
    ("space", r"\s+"),
    ("text", r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\""),
    ("number", r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[lLfFdDpP]?(?!\w)"),
    ("name", r"[A-Za-z_$][\w$]*|`(?:[^`]|``)+`"),
    ("sign", r"===|!==|==|!=|<>|<=|>=|&&|\|\||[-+*/%<>=!.,()?:]"),
)
_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS))
_SYMBOL = re.compile(r"'([A-Za-z_$][\w$]*)(?![\w$]*')")
"""``'x``, a column in the syntax of Scala programs"""


@dataclass(frozen=True)
class Token:
    """A word or operator, and its position."""

    kind: str
    text: str
    place: int


END = "end"


def tokens_of(text: str) -> list[Token]:
    """All tokens, the last of which is the end.

    :raises TableException: there is something else.
    """
    found: list[Token] = []
    place = 0
    while place < len(text):
        symbol = _SYMBOL.match(text, place)
        if symbol is not None and "'" not in text[symbol.end() :].partition(",")[0]:
            found.append(Token("name", symbol[1], place))
            place = symbol.end()
            continue
        match = _TOKEN.match(text, place)
        if match is None:
            raise problem(f"{text!r} cannot be read at character {place + 1}: {text[place : place + 10]!r}")
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0], place))
        place = match.end()
    return [*found, Token(END, "", len(text))]


_CONSTANTS = {
    "true": lit(True),
    "false": lit(False),
    "unbounded_row": UNBOUNDED_ROW,
    "unbounded_range": UNBOUNDED_RANGE,
    "current_row": CURRENT_ROW,
    "current_range": CURRENT_RANGE,
}
_SUFFIXES = {"as": "alias", "in": "in_", "?": "then", "substring": "substring", "mod": "__mod__", "power": "power"}
_SINGULAR = {"year", "quarter", "month", "week", "day", "hour", "minute", "second", "milli"}
_PLURAL = {f"{name}s" for name in _SINGULAR} | _SINGULAR
_FREE = (
    "array row concat concat_ws uuid pi e rand rand_integer atan2 current_date current_time current_timestamp "
    "local_time local_timestamp temporal_overlaps date_format negative coalesce with_columns without_columns"
)
_FREE_FUNCTIONS = {name: getattr(today, name) for name in _FREE.split()} | {
    "map": today.map_,
    "if": today.if_then_else,
    "not": today.not_,
    "and": today.and_,
    "or": today.or_,
}


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def constant_of(name: str) -> Expression[Any] | None:
    """The constant that a word means, if it is not a column."""
    return _CONSTANTS.get(name.lower())


def suffix_of(value: Expression[Any], name: str, arguments: list[Any] | None) -> Expression[Any]:
    """``value.name`` or ``value.name(arguments)``; without arguments perhaps a field of a row."""
    today_name = _SUFFIXES.get(name.lower(), snake_case(name))
    if arguments is None and today_name in _SINGULAR:
        today_name = f"{today_name}s"
    found = getattr(Expression, today_name, None)
    if isinstance(found, property) and not arguments:
        return found.__get__(value)  # type: ignore[no-any-return]
    if callable(found):
        return found(value, *(arguments or ()))  # type: ignore[no-any-return]
    return value.get(name) if arguments is None else call(name, value, *arguments)


def function_of(name: str, arguments: list[Any]) -> Expression[Any]:
    """``name(arguments)``: a function without a first argument, a method of it under Flink's name, or one by name."""
    plain = snake_case(name)
    if plain in _FREE_FUNCTIONS:
        return _FREE_FUNCTIONS[plain](*arguments)  # type: ignore[no-any-return]
    has_flinks_name = name != name.lower() and name != name.upper()
    if has_flinks_name and arguments and hasattr(Expression, plain):
        return suffix_of(arguments[0], name, arguments[1:] or None)
    return call(name, *(arguments or ([col("*")] if plain == "count" else [])))


_OLD = {
    "BYTE": DataTypes.TINYINT(),
    "SHORT": DataTypes.SMALLINT(),
    "LONG": DataTypes.BIGINT(),
    "STRING": DataTypes.STRING(),
    "DECIMAL": DataTypes.DECIMAL(38, 18),
    "BIG_DECIMAL": DataTypes.DECIMAL(38, 18),
    "SQL_DATE": DataTypes.DATE(),
    "SQL_TIME": DataTypes.TIME(0),
    "SQL_TIMESTAMP": DataTypes.TIMESTAMP(3),
    "LOCAL_DATE": DataTypes.DATE(),
    "LOCAL_TIME": DataTypes.TIME(0),
    "LOCAL_DATE_TIME": DataTypes.TIMESTAMP(3),
}
_ARRAYS = ("PRIMITIVE_ARRAY", "OBJECT_ARRAY")


def type_of(name: str, inside: DataType | None = None) -> DataType:
    """The type of a name, and of what stands in its brackets.

    :raises TableException: there is no such type.
    """
    upper = name.upper()
    if upper in _ARRAYS and inside is not None:
        return DataTypes.ARRAY(inside)
    if inside is not None:
        raise problem(f"{name}({inside}) is no type: {', '.join(_ARRAYS)} take one")
    if upper in _OLD:
        return _OLD[upper]
    return data_type_of(name)


_Value = Expression[Any]
_SIGNS: tuple[dict[str, Callable[[Any, Any], Any]], ...] = (
    {"||": or_},
    {"&&": and_},
    {
        "===": lambda a, b: a == b,
        "==": lambda a, b: a == b,
        "=": lambda a, b: a == b,
        "!==": lambda a, b: a != b,
        "!=": lambda a, b: a != b,
        "<>": lambda a, b: a != b,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    },
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": lambda a, b: a / b, "%": lambda a, b: a % b},
)
"""Binary operators by precedence, the lowest first."""
_NUMBERS = {
    "l": lambda text: lit(int(text), DataTypes.BIGINT()),
    "f": lambda text: lit(float(text), DataTypes.FLOAT()),
    "d": lambda text: lit(float(text)),
    "p": lambda text: lit(float(text)),
}


def read_expressions(text: str) -> Sequence[_Value]:
    """The expressions of a text, which commas separate.

    :raises TableException: it cannot be read.
    """
    tell("an expression as text", 'col("a"), lit(1), call("f", ...)')
    return _Reader(text).everything()


class _Reader:
    """Parses the tokens of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._next = 0

    def everything(self) -> list[_Value]:
        found = [self._named()]
        while self._takes(","):
            found.append(self._named())
        if self._token.kind != END:
            raise self._wrong("the end, or a comma")
        return found

    # -- tokens -------------------------------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _takes(self, *signs: str) -> bool:
        if self._token.kind == "sign" and self._token.text in signs:
            self._next += 1
            return True
        return False

    def _takes_word(self, word: str) -> bool:
        if self._token.kind == "name" and self._token.text.lower() == word:
            self._next += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._wrong(f"{sign!r}")

    def _name(self) -> str:
        if self._token.kind != "name":
            raise self._wrong("a name")
        text = self._token.text
        self._next += 1
        return text[1:-1].replace("``", "`") if text.startswith("`") else text

    def _wrong(self, expected: str) -> Exception:
        found = repr(self._token.text) if self._token.kind != END else "its end"
        place = self._token.place + 1
        return problem(f"{self._text!r} cannot be read: at character {place} is {found}, not {expected}")

    # -- expressions --------------------------------------------------------------------------------------------

    def _named(self) -> _Value:
        """``value``, ``value as name``, ``value as (name, name)``"""
        value = self._value()
        if not self._takes_word("as"):
            return value
        if not self._takes("("):
            return value.alias(self._name())
        names = [self._name()]
        while self._takes(","):
            names.append(self._name())
        self._expect(")")
        return value.alias(*names)

    def _value(self) -> _Value:
        """Parse ``condition ? value : value``, or a part of it."""
        condition = self._signs(0)
        if not self._takes("?"):
            return condition
        if_true = self._value()
        self._expect(":")
        return condition.then(if_true, self._value())

    def _signs(self, level: int) -> _Value:
        if level == len(_SIGNS):
            return self._unary()
        left = self._signs(level + 1)
        while self._token.kind == "sign" and self._token.text in _SIGNS[level]:
            make = _SIGNS[level][self._token.text]
            self._next += 1
            left = make(left, self._signs(level + 1))
        return left

    def _unary(self) -> _Value:
        if self._takes("!"):
            return not_(self._unary())
        if self._takes("-"):
            return self._negative()
        self._takes("+")
        return self._dotted(self._primary())

    def _negative(self) -> _Value:
        if self._token.kind != "number":
            return negative(self._unary())
        return self._dotted(self._number("-"))

    def _dotted(self, value: _Value) -> _Value:
        """Parse suffixes of a value: ``.sum``, ``.cast(LONG)``, ``.over(w)``, ``over w``"""
        while True:
            if self._takes("."):
                value = self._suffix(value)
            elif self._takes_word("over"):
                value = value.over(col(self._name()))
            else:
                return value

    def _suffix(self, value: _Value) -> _Value:
        if self._takes("*"):
            return value.flatten
        name = "?" if self._takes("?") else self._name()
        if name.lower() == "cast":
            self._expect("(")
            target = self._type()
            self._expect(")")
            return value.cast(target)
        if name.lower() == "as" and self._takes("("):
            names = [self._name()]
            while self._takes(","):
                names.append(self._name())
            self._expect(")")
            return value.alias(*names)
        return suffix_of(value, name, self._arguments() if self._takes("(") else None)

    def _arguments(self) -> list[_Value]:
        """Parse arguments, after their opening bracket."""
        if self._takes(")"):
            return []
        found = [self._value()]
        while self._takes(","):
            found.append(self._value())
        self._expect(")")
        return found

    def _primary(self) -> _Value:
        token = self._token
        if token.kind == "number":
            return self._number("")
        if token.kind == "text":
            self._next += 1
            quote = token.text[0]
            return lit(token.text[1:-1].replace(quote * 2, quote))
        if self._takes("*"):
            return col("*")
        if self._takes("("):
            value = self._value()
            self._expect(")")
            return value
        if token.kind != "name":
            raise self._wrong("a column, a constant or a function")
        name = self._name()
        if self._takes("("):
            return self._call(name)
        found = None if token.text.startswith("`") else constant_of(name)
        return col(name) if found is None else found

    def _call(self, name: str) -> _Value:
        lower = name.lower()
        if lower in ("null", "nullof"):
            target = self._type()
            self._expect(")")
            return null_of(target)
        if lower == "cast":
            value = self._value()
            self._expect(",")
            target = self._type()
            self._expect(")")
            return value.cast(target)
        return function_of(name, self._arguments())

    def _type(self) -> DataType:
        name = self._name()
        if not self._takes("("):
            return type_of(name)
        if self._token.kind == "number":  # DECIMAL(10, 2)
            numbers = [self._token.text]
            self._next += 1
            while self._takes(","):
                numbers.append(self._token.text)
                self._next += 1
            self._expect(")")
            return type_of(f"{name}({', '.join(numbers)})")
        inside = self._type()
        self._expect(")")
        return type_of(name, inside)

    def _number(self, sign: str) -> _Value:
        text = self._token.text
        self._next += 1
        if self._tokens[self._next].text == "." and self._tokens[self._next + 1].text == "rows":
            self._next += 2
            return row_interval(int(sign + text))
        make = _NUMBERS.get(text[-1].lower())
        if make is not None:
            return make(sign + text[:-1])
        return lit(float(sign + text) if set(text) & set(".eE") else int(sign + text))
