"""What a table demands of the rows that batch mode writes into it: NOT NULL and lengths, as Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.relational.casting import is_text
from millrace.relational.nodes import Field, Schema
from millrace.runtime.tables.constraints import (
    EnforceConstraints,
    is_fixed,
    is_sized,
    length_problem,
    null_problem,
)
from millrace.spark.tables.steps.parts import Part, numbered


def enforced(part: Part, columns: Schema, settings: Mapping[str, str]) -> Part:
    """Rows with the columns of a table, as the table has them.

    :param columns: as the table declares them; none if it demands nothing.
    """
    config = EnforceConstraints.of(columns, settings)
    if not config.needed:
        return part
    places = {f"c{index}": column for index, column in enumerate(columns)}
    required = [place for place, column in places.items() if not column.type.is_nullable]
    if config.not_null == "DROP" and required:
        part = part.where([f"{place} IS NOT NULL" for place in required])
    texts = [_text(place, column, config) for place, column in places.items()]
    return part.select(numbered(texts))


def _text(place: str, column: Field, config: EnforceConstraints) -> str:
    text = place
    if config.length != "IGNORE" and is_sized(column.type):
        text = _sized(place, column, config.length)
    if config.not_null == "DROP" or column.type.is_nullable:
        return text
    return f"CASE WHEN {place} IS NULL THEN raise_error({_quoted(null_problem(column.name))}) ELSE {text} END"


def _sized(place: str, column: Field, mode: str) -> str:
    length: int = column.type.length  # type: ignore[attr-defined]
    text, fixed = is_text(column.type), is_fixed(column.type)
    if mode == "TRIM_PAD":
        cut = f"substring({place}, 1, {length})"
        filling = "' '" if text else "X'00'"
        return f"rpad({cut}, {length}, {filling})" if fixed else cut
    size = f"{'char_length' if text else 'octet_length'}({place})"
    shown = f"'\\'', {place}, '\\''" if text else f"'X\\'', hex({place}), '\\''"
    before, after = length_problem(column.name, column.type, "\0").split("\0")
    message = f"concat({_quoted(before)}, {shown}, {_quoted(after)})"
    return f"CASE WHEN {size} {'<>' if fixed else '>'} {length} THEN raise_error({message}) ELSE {place} END"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
