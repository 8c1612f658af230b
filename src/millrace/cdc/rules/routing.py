"""``route``: which tables of the sink a table of the source goes to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from millrace.cdc.definition.model import Pipeline, Route
from millrace.cdc.definition.tree import Block
from millrace.cdc.rules.selectors import Selector, selector, table_id
from millrace.connectors.cdc.schema import TableId

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
    """Where tables go: those that no rule is for keep their names."""

    rules: tuple[_Rule, ...]
    first_only: bool

    def targets(self, table: TableId) -> tuple[TableId, ...]:
        """At least one table, none twice."""
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
