"""LPAD, RPAD, TRIM in all its forms, and PRINTF with the formats of Java's ``Formatter`` in US conventions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa

from millrace.relational.functions.registry import (
    ANY,
    STRING,
    TEXT,
    WHOLE,
    Column,
    Result,
    Surroundings,
    by_row,
    scalar,
    shortened,
    takes,
)
from millrace.relational.functions.text_values import formatter
from millrace.relational.rex import Call, Literal

# Padding and trimming


def _pad(text: str, length: int, filling: str, left: bool) -> str | None:
    """Cut or filled to a length; NULL for a negative one or nothing to fill with."""
    if length < 0 or not filling:
        return None
    missing = length - len(text)
    if missing <= 0:
        return text[:length]
    added = (filling * (missing // len(filling) + 1))[:missing]
    return added + text if left else text + added


def _spark_pad(call: Call, args: Sequence[str]) -> str | None:
    """Spark gives an empty text for a negative length, and the text where there is nothing to fill with."""
    length, filling = call.args[1:]
    if not (isinstance(length, Literal) and isinstance(filling, Literal) and filling.value):
        return None
    return f"{call.function.lower()}({', '.join(args)})" if length.value is not None and length.value >= 0 else None


@scalar("LPAD", takes(TEXT, WHOLE, TEXT, result=STRING, nullable=True), spark=_spark_pad)
def _lpad(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda text, length, filling: _pad(text, length, filling, True))


@scalar("RPAD", takes(TEXT, WHOLE, TEXT, result=STRING, nullable=True), spark=_spark_pad)
def _rpad(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda text, length, filling: _pad(text, length, filling, False))


def _register_trim(name: str, trim: Callable[[str, str], str], spark: str, result: Result = shortened) -> None:
    def text(call: Call, args: Sequence[str]) -> str:
        return f"trim({spark} {args[1] if len(args) == 2 else repr(' ')} FROM {args[0]})"

    @scalar(name, takes(TEXT, TEXT, optional=1, result=result), spark=text)
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        blank = pa.scalar(" ")
        return by_row(call, [args[0], args[1] if len(args) == 2 else blank], trim)


_SIDES: dict[str, Callable[[str, str], str]] = {"BOTH": str.strip, "LEADING": str.lstrip, "TRAILING": str.rstrip}
_register_trim("BTRIM", str.strip, "BOTH", STRING)
_register_trim("LTRIM", str.lstrip, "LEADING")
_register_trim("RTRIM", str.rstrip, "TRAILING")


def _spark_trim(call: Call, args: Sequence[str]) -> str:
    characters = args[1] if len(args) == 2 else "' '"
    return f"trim({call.option('side', 'BOTH')} {characters} FROM {args[0]})"


@scalar(
    "TRIM",
    takes(TEXT, TEXT, optional=1, result=shortened),
    spark=_spark_trim,
    syntax="TRIM([BOTH | LEADING | TRAILING] [characters] FROM string), as (string, characters) with the option side",
)
def _trim(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    characters = args[1] if len(args) == 2 else pa.scalar(" ")
    return by_row(call, [args[0], characters], _SIDES[call.option("side", "BOTH")])


# PRINTF

_DIRECTIVE = re.compile(r"%(?:(\d+)\$|(<))?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")
_NULL = "null"
_EXACT = Context(prec=10_000)
"""Enough digits for the largest DOUBLE, and for as many places after the point as a format may ask for."""


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
    """Put the sign before a number, and zeros between them up to the width."""
    before, after = ("(", ")") if negative and "(" in flags else ("-" if negative else "", "")
    if not negative:
        before = "+" if "+" in flags else " " if " " in flags else ""
    if "0" in flags:
        body = body.zfill(int(width or 0) - len(before) - len(after))
    return before + body + after
