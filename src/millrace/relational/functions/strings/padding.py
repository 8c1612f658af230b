"""LPAD, RPAD, and TRIM in all its forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import STRING, TEXT, WHOLE, Result, shortened, takes
from millrace.relational.rex import Call, Literal


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
