"""CREATE TABLE ... LIKE: what is taken over of another table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.table.catalogs.objects import CatalogBaseTable
from millrace.table.descriptions.schema import Declared, Schema
from millrace.table.sql import statements as s
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session

_EXCLUDING, _INCLUDING = "EXCLUDING", "INCLUDING"


def with_like(table: CatalogBaseTable, like: s.Like, session: Session) -> CatalogBaseTable:
    """The table with the parts of the source that its rules include.

    :raises TableException: INCLUDING, and both have the part.
    """
    source = session.catalogs.table(like.source).table
    own, other = table.get_unresolved_schema(), source.get_unresolved_schema()
    columns = _columns(own, other, like)
    watermark = own.watermark
    if other.watermark is not None and like.rule("WATERMARKS") != _EXCLUDING:
        if watermark is not None and like.rule("WATERMARKS") == _INCLUDING:
            raise problem(f"both tables have a WATERMARK: EXCLUDING or OVERWRITING WATERMARKS, LIKE {like.source}")
        watermark = watermark or other.watermark
    key = own.primary_key
    if other.primary_key is not None and like.rule("CONSTRAINTS") != _EXCLUDING:
        if key is not None:
            raise problem(f"both tables have a PRIMARY KEY: EXCLUDING CONSTRAINTS, LIKE {like.source}")
        key = other.primary_key
    keys = table.partition_keys
    if source.partition_keys and like.rule("PARTITIONS") != _EXCLUDING:
        if keys:
            raise problem(f"both tables are PARTITIONED BY columns: EXCLUDING PARTITIONS, LIKE {like.source}")
        keys = source.partition_keys
    distribution = table.distribution
    if source.distribution is not None and like.rule("DISTRIBUTION") != _EXCLUDING:
        if distribution is not None:
            raise problem(f"both tables are DISTRIBUTED: EXCLUDING DISTRIBUTION, LIKE {like.source}")
        distribution = source.distribution
    schema, options = Schema(columns, watermark, key), _options(table, source, like)
    return CatalogBaseTable(schema, options, keys, table.get_description(), distribution=distribution)


def _columns(own: Schema, other: Schema, like: s.Like) -> list[Declared]:
    found: dict[str, Declared] = {}
    for column in other.columns:
        part = "GENERATED" if column.expression is not None else "METADATA" if column.metadata else ""
        if not part or like.rule(part) != _EXCLUDING:
            found[column.name] = column
    for column in own.columns:
        part = "GENERATED" if column.expression is not None else "METADATA" if column.metadata else ""
        if column.name in found and (not part or like.rule(part) == _INCLUDING):
            raise problem(f"column '{column.name}' is in {like.source} already")
        found[column.name] = column
    return list(found.values())


def _options(table: CatalogBaseTable, source: CatalogBaseTable, like: s.Like) -> dict[str, str]:
    rule = like.rule("OPTIONS")
    if rule == _EXCLUDING:
        return table.get_options()
    both = sorted(table.get_options().keys() & source.get_options().keys())
    if both and rule == _INCLUDING:
        raise problem(f"both tables have the option '{both[0]}': EXCLUDING or OVERWRITING OPTIONS, LIKE {like.source}")
    return {**source.get_options(), **table.get_options()}
