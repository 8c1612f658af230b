"""Columns as DDL describes them, and as catalogs keep them."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.relational.arrow import arrow_type
from millrace.relational.types import NullType
from millrace.table.descriptions.schema import Declared, DeclaredDistribution, DeclaredKey, DeclaredWatermark, Schema
from millrace.table.sql import statements as s
from millrace.table.sql.text.errors import SqlValidationError
from millrace.table.sql.text.names import Name
from millrace.table.sql.writing.quoted import with_quoted_columns
from millrace.table.values.problems import did_you_mean, problem


def declared_column(column: s.Column) -> Declared:
    name = str(column.name)
    if isinstance(column, s.ComputedColumn):
        return Declared(name, expression=with_quoted_columns(column.expression.tree), comment=column.comment)
    if isinstance(column, s.MetadataColumn):
        key = column.key if column.key is not None else name
        return Declared(name, column.data_type, None, True, key, column.virtual, column.comment)
    return Declared(name, column.data_type, comment=column.comment)


def declared_watermark(watermark: s.Watermark) -> DeclaredWatermark:
    if len(watermark.column) > 1:
        raise problem(
            f"WATERMARK FOR {watermark.column}: a field of a row cannot be the time attribute: compute a column"
        )
    return DeclaredWatermark(str(watermark.column[0]), with_quoted_columns(watermark.expression.tree))


def declared_key(key: s.PrimaryKey) -> DeclaredKey:
    columns = tuple(map(str, key.columns))
    return DeclaredKey(key.name or f"PK_{'_'.join(columns)}", columns)


def declared_distribution(distribution: s.Distribution) -> DeclaredDistribution:
    return DeclaredDistribution(tuple(map(str, distribution.columns)), distribution.kind, distribution.buckets)


def check_names(names: Iterable[Name], schema: Schema, place: str) -> None:
    """
    :param place: where they stand, e.g. PARTITIONED BY.
    :raises SqlValidationError: one of them is no column.
    """
    known = [column.name for column in schema.columns]
    for name in names:
        if name not in known:
            raise SqlValidationError(f"{place}: there is no column '{name}'{did_you_mean(name, known)}", name.position)


def declared_schema(schema: s.Schema) -> Schema:
    """What CREATE TABLE says."""
    return Schema(
        [declared_column(column) for column in schema.columns],
        None if schema.watermark is None else declared_watermark(schema.watermark),
        None if schema.primary_key is None else declared_key(schema.primary_key),
    )


def checked(schema: Schema) -> Schema:
    """The schema, if its names fit together.

    :raises TableException: a name is there twice, or a key or watermark names no column.
    """
    names = [column.name for column in schema.columns]
    for name in names:
        if names.count(name) > 1:
            raise problem(f"column '{name}' is there twice")
    used = list(schema.primary_key.columns) if schema.primary_key else []
    used += [schema.watermark.column] if schema.watermark else []
    for name in used:
        if name not in names:
            raise problem(f"there is no column '{name}'{did_you_mean(name, names)}")
    for column in schema.columns:
        try:
            arrow_type(column.type or NullType())
        except NotImplementedError as error:
            raise problem(f"column '{column.name}': {error}") from None
    physical = {column.name for column in schema.columns if column.expression is None and not column.metadata}
    for name in schema.primary_key.columns if schema.primary_key else ():
        if name not in physical:
            raise problem(f"the primary key has the column '{name}', which is computed or metadata")
    return schema
