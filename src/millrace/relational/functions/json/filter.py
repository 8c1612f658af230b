"""Filters in JSON paths: ``(@.price < 10 && @.title)``."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

Filter = Callable[[Any], bool]
Operand = Callable[[Any], Any]

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<sign>&&|\|\||==|!=|<=|>=|=~|<|>|!|\(|\))
    | (?P<path>@(?:\.[\w$-]+|\['[^']*'\]|\["[^"]*"\]|\[-?\d+\])*)
    | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<regex>/(?:[^/\\]|\\.)*/i?)
    | (?P<word>true|false|null)
    )""",
    re.VERBOSE,
)
_PART = re.compile(r"""\.([\w$-]+)|\['([^']*)'\]|\["([^"]*)"\]|\[(-?\d+)\]""")
_MISSING = object()
_WORDS = {"true": True, "false": False, "null": None}


def read_filter(path: str, at: int, whole: str) -> tuple[Filter, int]:
    """The condition in brackets that begins here, and where the path goes on behind ``]``.

    :raises NotImplementedError: it has more than comparisons of fields with constants, and &&, || and !.
    """
    reader = _Reader(path, at, whole)
    found = reader.primary()
    end = re.compile(r"\s*\]").match(path, reader.at)
    if end is None:
        raise reader.error()
    return found, end.end()


class _Reader:
    """Recursive descent over the text of one filter."""

    def __init__(self, path: str, at: int, whole: str) -> None:
        self._path = path
        self._whole = whole
        self.at = at

    def error(self) -> NotImplementedError:
        return NotImplementedError(
            f"the filter in the JSON path {self._whole!r} is not understood at {self._path[self.at :]!r}: "
            "compare fields with constants, as in [?(@.price < 10 && @.title != 'x')]"
        )

    def _next(self) -> re.Match[str] | None:
        return _TOKEN.match(self._path, self.at)

    def _sign(self, *signs: str) -> str | None:
        """The sign that comes next if it is one of these; it is behind us then."""
        token = self._next()
        if token is None or token["sign"] not in signs:
            return None
        self.at = token.end()
        return token["sign"]

    def primary(self) -> Filter:
        if self._sign("("):
            found = self._either()
            if not self._sign(")"):
                raise self.error()
            return found
        if self._sign("!"):
            inner = self.primary()
            return lambda value: not inner(value)
        return self._comparison()

    def _either(self) -> Filter:
        found = self._both()
        while self._sign("||"):
            left, right = found, self._both()
            found = lambda value, left=left, right=right: left(value) or right(value)  # type: ignore[misc]
        return found

    def _both(self) -> Filter:
        found = self.primary()
        while self._sign("&&"):
            left, right = found, self.primary()
            found = lambda value, left=left, right=right: left(value) and right(value)  # type: ignore[misc]
        return found

    def _comparison(self) -> Filter:
        left = self._operand()
        sign = self._sign("==", "!=", "<=", ">=", "<", ">", "=~")
        if sign is None:
            return lambda value: left(value) is not _MISSING
        right = self._operand()
        compare = _COMPARISONS[sign]
        return lambda value: compare(left(value), right(value))

    def _operand(self) -> Operand:
        token = self._next()
        if token is None or token["sign"]:
            raise self.error()
        self.at = token.end()
        if token["path"]:
            steps = [a or b or c or int(d) for a, b, c, d in _PART.findall(token["path"])]
            return lambda value: _at(value, steps)
        if token["regex"]:
            text, _, flags = token["regex"][1:].rpartition("/")
            pattern = re.compile(text, re.IGNORECASE if flags else 0)
            return lambda value: pattern
        constant: Any
        if token["text"]:
            constant = re.sub(r"\\(.)", r"\1", token["text"][1:-1])
        elif token["number"]:
            constant = Decimal(token["number"])
        else:
            constant = _WORDS[token["word"]]
        return lambda value: constant


def _at(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        in_object = isinstance(step, str) and isinstance(value, dict) and step in value
        in_array = isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value)
        if not in_object and not in_array:
            return _MISSING
        value = value[step]
    return value


def _equal(left: Any, right: Any) -> bool:
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Values of different kinds have no order."""
    kinds = ((int, Decimal), (str,))

    def compared(left: Any, right: Any) -> bool:
        alike = any(isinstance(left, kind) and isinstance(right, kind) for kind in kinds)
        return alike and not isinstance(left, bool) and not isinstance(right, bool) and compare(left, right)

    return compared


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
    "=~": lambda left, right: isinstance(left, str) and right.fullmatch(left) is not None,
}
