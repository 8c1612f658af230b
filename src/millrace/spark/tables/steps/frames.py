"""Small steps that all nodes share: columns named c0, c1, ... of the types that the plan says."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from millrace.relational.nodes import Schema
from millrace.relational.rex import Call, Ref, Rex, SortKey, conjuncts
from millrace.relational.types import DataType, LocalZonedTimestampType, TimestampType, TimeType
from millrace.spark.tables.steps.computed import compute
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.texts.expressions import MOST_PARTS, spark_text
from millrace.spark.tables.texts.types import cast_text, ddl, same_type, spark_type

_SIX = 6


def names(count: int, start: int = 0) -> list[str]:
    """c0, c1, ..."""
    return [f"c{index}" for index in range(start, start + count)]


def types_of(schema: Schema) -> list[DataType]:
    return [column.type for column in schema]


def typed(frame: DataFrame, schema: Schema) -> DataFrame:
    """Columns c0, c1, ... of a frame cast where Spark found another type than the plan says."""
    texts = []
    changed = False
    for index, (found, wanted) in enumerate(zip(frame.schema.fields, types_of(schema), strict=True)):
        spark = spark_type(wanted)
        same = same_type(found.dataType, spark)
        texts.append(found.name if same else f"CAST({found.name} AS {ddl(spark)})")
        changed |= texts[-1] != f"c{index}"
    return frame.selectExpr(*numbered(texts)) if changed else frame


def typed_texts(texts: Sequence[str], found: Sequence[DataType | None], schema: Schema) -> list[str]:
    """Columns c0, c1, ... of the types that the plan says.

    :param found: what is known of the texts' types; None: nothing, Spark may find another one.
    """
    pairs = zip(texts, found, types_of(schema), strict=True)
    return numbered(cast_text(text, kind, wanted) for text, kind, wanted in pairs)


def retyped(part: Part, found: Sequence[DataType], wanted: Schema) -> Part:
    """Columns of these types in those that the plan says."""
    texts = typed_texts(names(len(found)), found, wanted)
    return part if texts == names(len(found)) else part.select(texts)


def cut_times(part: Part, schema: Schema, context: Context) -> Part:
    """Times of frames of others, which have six digits of a second, with those that their type has."""
    types = types_of(schema)
    full = [_with_six_digits(kind) for kind in types]
    if full == types:
        return part
    refs = [Ref(kind, place) for place, kind in enumerate(full)]
    cut = [ref if ref.type == kind else Call(kind, "CAST", (ref,)) for ref, kind in zip(refs, types)]
    computed = compute(part, cut, full, context)
    return computed.part.select(typed_texts(computed.texts, computed.types, schema))


def _with_six_digits(kind: DataType) -> DataType:
    short = isinstance(kind, (TimeType, TimestampType, LocalZonedTimestampType)) and kind.precision < _SIX
    return type(kind)(_SIX, kind.is_nullable) if short else kind  # type: ignore[call-arg,arg-type]


def filtered(part: Part, condition: Rex, types: Sequence[DataType], context: Context) -> Part:
    """The rows for which the condition is TRUE. What Spark can check is checked before the rest."""
    texts = []
    rest = []
    parts = conjuncts(condition)
    if len(parts) > MOST_PARTS // 4 and spark_text(condition) is None:
        parts = [condition]
    for each in parts:
        text = spark_text(each)
        if text is None:
            rest.append(each)
        else:
            texts.append(text)
    if texts:
        part = part.where(texts)
    if not rest:
        return part
    computed = compute(part, rest, types, context)
    return computed.part.where(computed.texts).select(names(len(types)))


def ordered(text: str, key: SortKey) -> Column:
    """A text as a column to sort by."""
    column = F.expr(text)
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()


def order_text(text: str, key: SortKey) -> str:
    """A text as an item of ORDER BY."""
    return f"{text} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
