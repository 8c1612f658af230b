r"""Selects tables by patterns (``db.orders_\.*, shop.[a|b]``): for ``route``, and for a source's ``tables`` options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from millrace.cdc.pipeline_file import EndOptions, Pipeline, Route
from millrace.cdc.yaml_tree import Block
from millrace.connectors.cdc.events import TableId

_COMMA, _DOT = re.compile(r"(?<!\\),"), re.compile(r"(?<!\\)\.")
_MOST_PARTS = 3


@dataclass(frozen=True)
class Selector:
    r"""Matches table names, part by part.

    A dot separates the parts; ``\.`` is the dot of a regular expression. A pattern without a database matches tables of
    any
    database that has schemas.
    """

    patterns: tuple[tuple[str, ...], ...]

    def match(self, table: TableId) -> tuple[str, ...] | None:
        """The regular expression groups of the first matching pattern; None: none matches."""
        for parts in self.patterns:
            names = _names(table, len(parts))
            if names is None:
                continue
            found = [re.fullmatch(part, name, re.IGNORECASE) for part, name in zip(parts, names)]
            if all(found):
                return tuple(group or "" for each in found if each is not None for group in each.groups())
        return None


def _names(table: TableId, count: int) -> tuple[str, ...] | None:
    names = tuple(part for part in (table.namespace, table.schema, table.table) if part)
    if len(names) == count:
        return names
    return names[1:] if len(names) == _MOST_PARTS and count == _MOST_PARTS - 1 else None


def selector(text: str, block: Block, key: str = "source-table") -> Selector:
    """The pattern that a rule gives. :raises PipelineError: it is none."""
    patterns = []
    for each in filter(None, map(str.strip, _COMMA.split(text))):
        parts = tuple(part.replace("\\.", ".").replace("\\,", ",") for part in _DOT.split(each))
        if len(parts) > _MOST_PARTS or not all(parts):
            block.fail(
                f"'{key}': {each} is no name of a table: one to three names with dots; the dot of a regular "
                "expression is \\.",
                key,
            )
        for part in parts:
            try:
                re.compile(part)
            except re.error as error:
                block.fail(
                    f"'{key}': {part} is no regular expression ({error}); a dot parts names, that of a regular "
                    "expression is \\.",
                    key,
                )
        patterns.append(parts)
    return Selector(tuple(patterns))


def table_id(text: str) -> TableId | None:
    """A table's name of one to three parts; None: the text is not a name."""
    parts = text.strip().split(".")
    if not all(parts) or len(parts) > _MOST_PARTS:
        return None
    return TableId(*[""] * (_MOST_PARTS - len(parts)), *parts)


_GROUP = re.compile(r"\$(\d+)")


@dataclass(frozen=True)
class _Rule:
    tables: Selector
    sink: str
    symbol: str | None

    def target(self, table: TableId) -> TableId | None:
        groups = self.tables.match(table)
        if groups is None:
            return None
        if self.symbol:
            return table_id(self.sink.replace(self.symbol, table.table))
        return table_id(_GROUP.sub(lambda found: groups[int(found[1]) - 1], self.sink))


@dataclass(frozen=True)
class Router:
    """Maps source tables to sink tables; tables without a matching route keep their names."""

    rules: tuple[_Rule, ...]
    first_only: bool

    def targets(self, table: TableId) -> tuple[TableId, ...]:
        """The sink tables of a source table: at least one, without duplicates."""
        found = [each for rule in self.rules for each in (rule.target(table),) if each is not None]
        chosen: Sequence[TableId] = found[:1] if self.first_only else found
        return tuple(dict.fromkeys(chosen)) or (table,)


def router(pipeline: Pipeline) -> Router:
    """:raises PipelineError: a rule cannot be read."""
    return Router(tuple(_rule(each) for each in pipeline.routes), pipeline.first_route_only)


def _rule(route: Route) -> _Rule:
    tables = selector(route.source_table, route.block)
    sample = _GROUP.sub("x", route.sink_table.replace(route.replace_symbol or "\0", "x"))
    if table_id(sample) is None:
        route.block.fail(f"'sink-table': {route.sink_table} is no name of a table", "sink-table")
    _check_groups(route, tables, route.block)
    return _Rule(tables, route.sink_table, route.replace_symbol)


def _check_groups(route: Route, tables: Selector, block: Block) -> None:
    wanted = max((int(number) for number in _GROUP.findall(route.sink_table)), default=0)
    if wanted and route.replace_symbol:
        block.fail("'replace-symbol' and groups ($1, ...) cannot both stand in 'sink-table'", "sink-table")
    for parts in tables.patterns:
        count = sum(re.compile(part).groups for part in parts)
        if wanted > count:
            block.fail(f"'sink-table' has ${wanted}, and 'source-table' has {count} groups", "sink-table")


def table_list(options: EndOptions, name: str, text: str, parts: int) -> list[tuple[str, ...]]:
    """The parts of patterns as regular expressions."""
    found = list(selector(text, options.end.block, name).patterns) if text.strip() else []
    for each in found:
        if len(each) != parts:
            form = "database.schema.table" if parts == 3 else "database.table"
            options.fail(name, f"'{name}': {'.'.join(each)} is not {form}; the dot of a regular expression is \\.")
    return found


@dataclass(frozen=True)
class TableList:
    """Regular expressions that match whole names of schemas (or databases), and of ``schema.table``."""

    schemas: tuple[str, ...]
    tables: tuple[str, ...]

    @staticmethod
    def of(included: Sequence[tuple[str, ...]], excluded: Sequence[tuple[str, ...]]) -> TableList:
        """:param included: schema and table of each pattern."""
        but = "".join(f"(?!(?:{_whole(each)})$)" for each in excluded)
        return TableList(
            tuple(dict.fromkeys(f"(?:{schema})" for schema, _ in included)),
            tuple(f"{but}{_whole(each)}" for each in included),
        )


def _whole(parts: tuple[str, ...]) -> str:
    return r"\.".join(f"(?:{part})" for part in parts)
