"""What a query needs to know about its session: tables, the user's functions, the time zone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from millrace.relational.nodes import Rel, Schema
from millrace.relational.types import DataType
from millrace.table.sql import nodes
from millrace.util.record import Record

SCALAR, TABLE, AGGREGATE, TABLE_AGGREGATE = "SCALAR", "TABLE", "AGGREGATE", "TABLE_AGGREGATE"
"""Kinds of a user's function."""


class TableInfo(Record):
    """A table or view that a query reads."""

    path: tuple[str, str, str]
    plan: Rel
    """a ``Scan`` of physical and metadata columns, a ``StreamScan``, or the plan of a view"""
    columns: tuple[str, ...] = ()
    """all columns in the order of the DDL, computed ones included; empty: those of ``plan``"""
    computed: Mapping[str, nodes.Node] = field(default_factory=dict)
    """computed columns: expressions over the columns of ``plan``"""
    watermark: tuple[str, nodes.Node] | None = None
    """WATERMARK FOR column AS expression, over all columns"""
    primary_key: tuple[str, ...] = ()
    lookup: Callable[[Sequence[int]], Any] | None = None
    """makes a ``LookupTableSource`` for these key columns (positions in ``plan``); None: cannot be looked up"""
    source_text: str = ""
    """the DDL that the computed columns and the watermark come from, for error messages"""


class SinkInfo(Record):
    """A table that a query writes."""

    path: tuple[str, str, str]
    columns: Schema
    """the columns that are written, in the order of the sink: physical ones, then metadata that is not VIRTUAL"""
    sink: Any
    """a ``TableSink``"""
    partition_keys: tuple[str, ...] = ()
    not_written: tuple[str, ...] = ()
    """computed and virtual columns: they cannot be named in an INSERT"""
    declared: tuple[str, ...] = ()
    """the columns that are written as the table declares them, which an INSERT goes by; empty: in the order of the
    sink"""

    @property
    def names(self) -> tuple[str, ...]:
        """What an INSERT without names of columns fills, in its order."""
        return self.declared or tuple(column.name for column in self.columns)


class UserFunction(Record):
    """A function of the user, as plans call it."""

    name: str
    kind: str
    wrapper: Any
    """what ``UdfCall.function``, ``Correlate.udf`` and ``AggCall.udf`` carry"""
    result: DataType | None = None
    """of a scalar or aggregate function"""
    columns: Schema = ()
    """of a table function"""
    arguments: tuple[DataType, ...] | None = None
    """what the arguments are cast to; None: taken as they are"""
    vectorized: bool = False
    asynchronous: bool = False
    deterministic: bool = True
    system: bool = False
    """a temporary system function: it takes the place of a built-in one with its name"""


class Resolver(Protocol):
    """The session, as far as the binding of queries sees it."""

    @property
    def zone(self) -> str:
        """The time zone of the session."""

    @property
    def streaming(self) -> bool:
        """Whether queries run as streams."""

    @property
    def matches_as_standard(self) -> bool:
        """Whether MATCH_RECOGNIZE always means what the SQL standard says."""

    def table(self, path: tuple[str, ...], options: Mapping[str, str]) -> TableInfo | None:
        """The table or view of one to three names (in the current catalog and database where these are left out), its
        options overridden by an OPTIONS hint. None: there is none."""

    def file(self, path: str, format: str | None) -> TableInfo:
        """Files as a table, whose columns are found out. ``format``: None: by the ending of the path."""

    def sink(self, path: tuple[str, ...], options: Mapping[str, str]) -> SinkInfo | None:
        """The table that an INSERT writes."""

    def function(self, path: tuple[str, ...]) -> UserFunction | None:
        """The user's function with this name (any case) of one to three parts."""

    def table_names(self) -> Iterable[str]:
        """Names of the tables and views of the current database, for suggestions."""

    def function_names(self) -> Iterable[str]:
        """Names of the user's functions, for suggestions."""
