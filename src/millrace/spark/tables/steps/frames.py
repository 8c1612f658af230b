"""Small steps that all nodes share: columns named c0, c1, ... of the types that the plan says."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from millrace.relational.nodes import Schema
from millrace.relational.rex import Rex, SortKey, conjuncts
from millrace.relational.types import DataType
from millrace.spark.tables.steps.computed import compute
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.texts.expressions import spark_text
from millrace.spark.tables.texts.types import ddl, same_type, spark_type


def names(count: int, start: int = 0) -> list[str]:
    """c0, c1, ..."""
    return [f"c{index}" for index in range(start, start + count)]


def types_of(schema: Schema) -> list[DataType]:
    return [column.type for column in schema]


def select_texts(frame: DataFrame, texts: Sequence[str]) -> DataFrame:
    """These expressions as columns c0, c1, ..."""
    return frame.select(*(F.expr(text).alias(f"c{index}") for index, text in enumerate(texts)))


def typed(frame: DataFrame, schema: Schema) -> DataFrame:
    """Columns c0, c1, ... cast where Spark found another type than the plan says."""
    columns = []
    changed = False
    for index, (found, wanted) in enumerate(zip(frame.schema.fields, types_of(schema), strict=True)):
        spark = spark_type(wanted)
        name = f"c{index}"
        if same_type(found.dataType, spark):
            columns.append(F.col(found.name) if found.name == name else F.col(found.name).alias(name))
            changed |= found.name != name
        else:
            columns.append(F.expr(f"CAST({found.name} AS {ddl(spark)})").alias(name))
            changed = True
    return frame.select(*columns) if changed else frame


def filtered(frame: DataFrame, condition: Rex, types: Sequence[DataType], context: Context) -> DataFrame:
    """The rows for which the condition is TRUE. What Spark can check is checked before the rest."""
    kept = frame.columns
    rest = []
    for part in conjuncts(condition):
        text = spark_text(part)
        if text is None:
            rest.append(part)
        else:
            frame = frame.where(F.expr(text))
    if not rest:
        return frame
    computed = compute(frame, rest, types, context)
    return computed.frame.where(F.expr(" AND ".join(computed.texts))).select(*kept)


def ordered(text: str, key: SortKey) -> Column:
    """A text as a column to sort by."""
    column = F.expr(text)
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()


def order_text(text: str, key: SortKey) -> str:
    """A text as an item of ORDER BY."""
    return f"{text} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
