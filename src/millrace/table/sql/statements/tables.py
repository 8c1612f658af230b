"""CREATE TABLE and its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from millrace.relational.types import DataType
from millrace.table.sql.statements.base import Options, Statement, Written
from millrace.table.sql.text.names import Name, Path
from millrace.util.record import Record


class PhysicalColumn(Record):
    name: Name
    data_type: DataType
    comment: str | None = None


class MetadataColumn(Record):
    """``key``: under which the connector has it; by default the name. A virtual one is not written."""

    name: Name
    data_type: DataType
    key: str | None = None
    virtual: bool = False
    comment: str | None = None


class ComputedColumn(Record):
    name: Name
    expression: Written
    comment: str | None = None


Column: TypeAlias = PhysicalColumn | MetadataColumn | ComputedColumn


class Watermark(Record):
    """WATERMARK FOR column AS expression. The column may be a field of a row: then it has several names."""

    column: Path
    expression: Written


class PrimaryKey(Record):
    """Of the rows as they arrive: nothing checks it, as NOT ENFORCED says."""

    columns: tuple[Name, ...]
    name: str | None = None


class Distribution(Record):
    """``kind``: HASH, RANGE, or None if the connector chooses."""

    columns: tuple[Name, ...] = ()
    kind: str | None = None
    buckets: int | None = None


class Schema(Record):
    """Columns, watermark and key of a table."""

    columns: tuple[Column, ...] = ()
    watermark: Watermark | None = None
    primary_key: PrimaryKey | None = None
    order: tuple[Name, ...] = ()
    """of CREATE TABLE t (b, a) AS SELECT: how the columns of the query are ordered"""


class Like(Record):
    """LIKE source ( .. ). ``rules``: part (ALL, CONSTRAINTS, DISTRIBUTION, GENERATED, METADATA, OPTIONS, PARTITIONS,
    WATERMARKS) to INCLUDING, EXCLUDING or OVERWRITING, as written."""

    source: Path
    rules: Mapping[str, str] = field(default_factory=dict)

    def rule(self, part: str) -> str:
        """What happens to a part: as written, else as Flink does by default."""
        default = "OVERWRITING" if part == "OPTIONS" else "INCLUDING"
        return self.rules.get(part, self.rules.get("ALL", default))


class CreateTable(Statement):
    """``replace`` and no ``create``: REPLACE TABLE, of a table that is there."""

    path: Path
    schema: Schema = Schema()
    comment: str | None = None
    partitioned_by: tuple[Name, ...] = ()
    distribution: Distribution | None = None
    options: Options = field(default_factory=dict)
    like: Like | None = None
    query: Written | None = None
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False
    create: bool = True


class CreateMaterializedTable(Statement):
    """``freshness``: an IntervalLiteral. ``refresh_mode``: CONTINUOUS, FULL or None. ``or_alter``: one may be there."""

    path: Path
    query: Written
    schema: Schema = Schema()
    comment: str | None = None
    partitioned_by: tuple[Name, ...] = ()
    distribution: Distribution | None = None
    options: Options = field(default_factory=dict)
    freshness: Written | None = None
    refresh_mode: str | None = None
    if_not_exists: bool = False
    or_alter: bool = False
