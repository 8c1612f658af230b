"""What a table says about its columns beside their types: a column that is used cannot go."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.table.catalogs.objects import CatalogBaseTable
from millrace.table.sql import nodes
from millrace.table.sql.parser import parse_expression
from millrace.table.values.problems import problem


def refuse_used(table: CatalogBaseTable, name: str, gone: frozenset[str] = frozenset()) -> None:
    """
    :param gone: columns that are dropped together with it.
    :raises TableException: something of the table needs the column.
    """
    for user in _users(table, name, gone):
        raise problem(f"column '{name}' is used by {user}")


def _users(table: CatalogBaseTable, name: str, gone: frozenset[str]) -> Iterator[str]:
    schema = table.get_unresolved_schema()
    for column in schema.columns:
        if column.name not in gone and _reads(column.expression, name):
            yield f"the computed column '{column.name}': change that one first"
    if schema.watermark is not None and (schema.watermark.column == name or _reads(schema.watermark.expression, name)):
        yield "the watermark: DROP WATERMARK first"
    if name in table.partition_keys:
        yield "PARTITIONED BY: the partitions of a table stay as they are"
    if table.distribution is not None and name in table.distribution.columns:
        yield "DISTRIBUTED BY: DROP DISTRIBUTION first"


def _reads(expression: object, name: str) -> bool:
    if not isinstance(expression, str):
        return False
    columns = parse_expression(expression).find_all(nodes.Column)
    return any(nodes.column_parts(column)[0].name == name for column in columns)
