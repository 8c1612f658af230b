"""PRINTF: the formats of Java's ``Formatter`` with US conventions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import ANY, STRING, TEXT, takes
from millrace.relational.printing import formatter
from millrace.relational.rex import Call

_DIRECTIVE = re.compile(r"%(?:(\d+)\$|(<))?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")
_NULL = "null"
_EXACT = Context(prec=10_000)
"""for the digits of the largest DOUBLE, and as many after the point as somebody may ask for"""


class _Invalid(ValueError):
    """A format that Java refuses."""


@scalar(
    "PRINTF",
    takes(TEXT, ANY, variadic=True, optional=1, result=STRING, nullable=True),
    syntax="PRINTF(format [, value]...)",
)
def _printf(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """NULL for a format that is NULL or not valid."""
    texts = [formatter(arg.type, around.zone) or str for arg in call.args[1:]]

    def row(pattern: str | None, *values: Any) -> str | None:
        if pattern is None:
            return None
        shown = [None if value is None else text(value) for value, text in zip(values, texts)]
        try:
            return printf(pattern, values, shown)
        except _Invalid:
            return None

    return by_row(call, args, row, nulls=True)


def printf(pattern: str, values: Sequence[Any], texts: Sequence[str | None]) -> str:
    """The text of a format.

    :param texts: the values as text, for ``%s``
    :raises ValueError: the format is not valid for the values.
    """
    parts: list[str] = []
    end = following = 0
    last = -1
    for match in _DIRECTIVE.finditer(pattern):
        parts.append(_plain(pattern[end : match.start()]))
        end = match.end()
        number, again, flags, width, precision, kind = match.groups()
        if kind in "n%":
            parts.append("\n" if kind == "n" else _wide("%", flags, width))
            continue
        if number:
            last = int(number) - 1
        elif not again:
            last, following = following, following + 1
        if not 0 <= last < len(values):
            raise _Invalid(match[0])
        parts.append(_directive(values[last], texts[last], flags, width, precision, kind))
    parts.append(_plain(pattern[end:]))
    return "".join(parts)


def _plain(text: str) -> str:
    if "%" in text:
        raise _Invalid(text)
    return text


def _wide(text: str, flags: str, width: str | None) -> str:
    size = int(width or 0)
    return text.ljust(size) if "-" in flags else text.rjust(size)


def _directive(value: Any, text: str | None, flags: str, width: str | None, precision: str | None, kind: str) -> str:
    shown = _converted(value, text, flags, width, precision, kind.lower())
    return _wide(shown.upper() if kind.isupper() else shown, flags, width)


def _converted(value: Any, text: str | None, flags: str, width: str | None, precision: str | None, kind: str) -> str:
    if kind == "b":
        return _cut(str(value).lower() if isinstance(value, bool) else str(value is not None).lower(), precision)
    if value is None:
        return _cut(_NULL, precision)
    if kind == "s":
        return _cut(str(value).lower() if isinstance(value, bool) else text or "", precision)
    if kind == "c" and isinstance(value, int):
        return chr(value)
    if kind in "dxo" and isinstance(value, int) and not isinstance(value, bool) and precision is None:
        return _whole(value, flags, width, kind)
    if kind in "fe" and isinstance(value, (float, Decimal)):
        return _fraction(value, flags, width, int(precision or 6), kind)
    raise _Invalid(f"%{kind} of {value!r}")


def _cut(text: str, precision: str | None) -> str:
    return text if precision is None else text[: int(precision)]


def _whole(value: int, flags: str, width: str | None, kind: str) -> str:
    if kind == "d":
        return _signed(f"{abs(value):,}" if "," in flags else str(abs(value)), value < 0, flags, width)
    bits = 32 if -(1 << 31) <= value < 1 << 31 else 64
    digits = format(value % (1 << bits), kind)
    prefix = {"x": "0x", "o": "0"}[kind] if "#" in flags else ""
    return prefix + (digits.zfill(int(width or 0) - len(prefix)) if "0" in flags else digits)


def _fraction(value: float | Decimal, flags: str, width: str | None, digits: int, kind: str) -> str:
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    if not exact.is_finite():
        return "NaN" if exact.is_nan() else "-Infinity" if exact < 0 else "Infinity"
    if kind == "e":
        shown = f"{abs(exact):.{digits}e}"
        mantissa, exponent = shown.split("e")
        body = f"{mantissa}e{exponent[0]}{exponent[1:].zfill(2)}"
    else:
        rounded = abs(exact).quantize(Decimal((0, (1,), -digits)), ROUND_HALF_UP, _EXACT)
        body = f"{rounded:,f}" if "," in flags else f"{rounded:f}"
    return _signed(body, exact.is_signed(), flags, width)


def _signed(body: str, negative: bool, flags: str, width: str | None) -> str:
    """With its sign, and zeros up to the width."""
    before, after = ("(", ")") if negative and "(" in flags else ("-" if negative else "", "")
    if not negative:
        before = "+" if "+" in flags else " " if " " in flags else ""
    if "0" in flags:
        body = body.zfill(int(width or 0) - len(before) - len(after))
    return before + body + after
