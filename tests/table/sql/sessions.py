"""A session with tables in it, as far as binding a query needs one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.relational.nodes import Field, Rel, Scan
from millrace.relational.types import DataType
from millrace.table.sql.binding import Resolver, SinkInfo, TableInfo, UserFunction, bind_query
from millrace.table.sql.grammar.parser import parse_expression, parse_query, parse_type

PATH = ("cat", "db")


@dataclass
class Session:
    """A ``Resolver`` over tables that a test declares."""

    tables: dict[str, TableInfo] = field(default_factory=dict)
    sinks: dict[str, SinkInfo] = field(default_factory=dict)
    functions: dict[str, UserFunction] = field(default_factory=dict)
    streaming: bool = True
    zone: str = "UTC"
    matches_as_standard: bool = False
    options: list[dict[str, str]] = field(default_factory=list)
    """the OPTIONS hints that were asked for"""

    def table(self, path: tuple[str, ...], options: Mapping[str, str]) -> TableInfo | None:
        if options:
            self.options.append(dict(options))
        return self.tables.get(path[-1]) if PATH[3 - len(path) :] == path[:-1] else None

    def sink(self, path: tuple[str, ...], options: Mapping[str, str]) -> SinkInfo | None:
        return self.sinks.get(path[-1])

    def function(self, path: tuple[str, ...]) -> UserFunction | None:
        return self.functions.get(path[-1].lower())

    def table_names(self) -> Iterable[str]:
        return self.tables

    def function_names(self) -> Iterable[str]:
        return self.functions

    def declare(
        self,
        name: str,
        *columns: str,
        watermark: str | None = None,
        key: Sequence[str] = (),
        lookup: Any = None,
    ) -> None:
        """A table with columns such as ``"id INT"`` and ``"p AS PROCTIME()"``; the watermark as ``"ts AS ts"``."""
        physical: list[Field] = []
        computed = {}
        order = []
        for column in columns:
            column_name, _, rest = column.partition(" ")
            order.append(column_name)
            if rest.startswith("AS "):
                computed[column_name] = parse_expression(rest[3:])
            else:
                physical.append(Field(column_name, data_type(rest)))
        mark = None
        if watermark is not None:
            of, _, expression = watermark.partition(" AS ")
            mark = (of, parse_expression(expression))
        path = (*PATH, name)
        plan = Scan(path, tuple(physical))
        self.tables[name] = TableInfo(path, plan, tuple(order), computed, mark, tuple(key), lookup)

    def declare_sink(
        self, name: str, *columns: str, partition: Sequence[str] = (), not_written: Sequence[str] = ()
    ) -> None:
        fields = tuple(Field(each.split(" ", 1)[0], data_type(each.split(" ", 1)[1])) for each in columns)
        self.sinks[name] = SinkInfo((*PATH, name), fields, f"sink of {name}", tuple(partition), tuple(not_written))

    def bind(self, sql: str) -> Rel:
        resolver: Resolver = self
        return bind_query(parse_query(sql), resolver)


def data_type(text: str) -> DataType:
    """``INT NOT NULL`` as a type."""
    return parse_type(text)
