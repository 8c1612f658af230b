"""Plans of Table API queries with groups: aggregates by keys and group windows, ``over_window``,
``match_recognize``."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.relational import types as t
from millrace.relational.nodes import (
    PROCTIME,
    ROWTIME,
    Aggregate,
    Field,
    Match,
    Over,
    Rel,
    TableAggregate,
    WindowAggregate,
    WindowSpec,
)
from millrace.relational.rex import AggCall, Frame, Ref, Rex, SortKey
from millrace.runtime.tables.windows.count_windows import ROWS
from millrace.table.expression_methods.expression_base import expression_of, node_of
from millrace.table.expression_methods.windows import GroupWindow, OverWindow
from millrace.table.queries.projection import Item, expand, named, project
from millrace.table.sql import nodes
from millrace.table.sql.binding.calls import bind_aggregate, bind_over_function, find_user_function, is_aggregate_call
from millrace.table.sql.binding.from_clause import From
from millrace.table.sql.binding.match_recognize import rel_of
from millrace.table.sql.binding.scope import TABLE_AGGREGATE, Block, bind, column_at
from millrace.table.sql.grammar.parser import parse_expression, parse_match
from millrace.table.sql.program_text import shown
from millrace.table.values.program_errors import problem

# Keys and aggregates


@dataclass(frozen=True)
class BoundWindow:
    """A group window over a column."""

    spec: WindowSpec
    time: int
    alias: str


@dataclass(frozen=True)
class Grouping:
    """A plan, the keys that it is grouped by, perhaps a group window."""

    plan: Rel
    block: Block
    keys: tuple[Item, ...]
    window: BoundWindow | None = None

    def select(self, fields: Sequence[nodes.Node], flat: nodes.Node | None = None) -> Rel:
        """The columns of a select over the groups.

        :param flat: the aggregate of ``aggregate(...)``, whose fields are columns by name.
        """
        plan, positions = self._with_keys()
        calls = _Calls(self, self.block.over(plan.schema))
        known = {} if flat is None else calls.columns_of(flat)
        items = expand(fields, self._selectable(known))
        replaced = [calls.replace(item.node, known) for item in items]
        columns = [Field(key, plan.schema[at].type, plan.schema[at].time) for key, at in zip(self._names(), positions)]
        if self.window is None:  # the rows of a group have many times, and none when the next one comes
            columns = [replace(column, time=None) for column in columns]
        columns += [Field(f"agg{index}", call.type) for index, call in enumerate(calls.calls)]
        grouped: Rel
        if self.window is None:
            grouped = Aggregate(plan, positions, tuple(calls.calls), tuple(columns))
        else:
            columns += [self._property(name, plan) for name in calls.properties]
            window = self.window
            grouped = WindowAggregate(
                plan, window.spec, window.time, positions, tuple(calls.calls), tuple(calls.properties), tuple(columns)
            )
        result = self.block.over(grouped.schema)
        names = named(calls.with_names(items))
        return project(grouped, [bind(calls.placed(node), result) for node in replaced], names)

    def flat(self, node: nodes.Node) -> Rel:
        """The rows that a table aggregate function makes of every group, behind the keys."""
        names: tuple[str, ...] = ()
        if isinstance(node, nodes.Alias):
            names, node = node.names, node.this
        plan, positions = self._with_keys()
        user = find_user_function(node, self.block)
        if user is None or user.kind != TABLE_AGGREGATE:
            raise problem(f"{shown(node)} is no table aggregate function: make one with udtaf()")
        call = bind_aggregate(node, self.block.over(plan.schema))
        fields = _fields_of(call, names or user.wrapper._alias_names)
        keys = [replace(plan.schema[at], name=name, time=None) for name, at in zip(self._names(), positions)]
        return TableAggregate(plan, positions, call, (*keys, *(Field(name, kind) for name, kind in fields)))

    def _names(self) -> list[str]:
        return named(self.keys)

    def _selectable(self, known: dict[str, nodes.Node]) -> Block:
        """The columns that a select can name: the keys, and those of a flat aggregate. Their types come later."""
        return self.block.over(tuple(Field(name, t.NullType()) for name in (*self._names(), *known)))

    def _with_keys(self) -> tuple[Rel, tuple[int, ...]]:
        """The input with computed keys as columns behind its own."""
        plan, positions = self.plan, []
        extra: list[Rex] = []
        for key in self.keys:
            rex = bind(key.node, self.block)
            if isinstance(rex, Ref):
                positions.append(rex.index)
            else:
                positions.append(len(plan.schema) + len(extra))
                extra.append(rex)
        if extra:
            own = [self.block.ref(index) for index in range(len(plan.schema))]
            names = [*plan.names, *(f"$key{index}" for index in range(len(extra)))]
            plan = project(plan, [*own, *extra], names)
        return plan, tuple(positions)

    def _property(self, name: str, plan: Rel) -> Field:
        assert self.window is not None
        time = plan.schema[self.window.time]
        if name == "ROWTIME":
            return Field("rowtime", time.type.not_null(), ROWTIME)
        if name == "PROCTIME":
            return Field("proctime", t.LocalZonedTimestampType(3, False), PROCTIME)
        return Field(name.lower(), t.TimestampType(3, False))


class _Calls:
    """Collects the aggregates and window properties of a select, and puts columns of the result in their place."""

    def __init__(self, grouping: Grouping, block: Block) -> None:
        self._grouping = grouping
        self._block = block
        self._keys = {repr(_plain(key.node)): index for index, key in enumerate(grouping.keys)}
        self._by_name = {name: index for index, name in enumerate(grouping._names())}
        self._known: dict[str, int] = {}
        self.calls: list[AggCall] = []
        self.properties: list[str] = []
        self._found: list[str] = []
        """aggregates and properties in the order of the select"""

    def columns_of(self, flat: nodes.Node) -> dict[str, nodes.Node]:
        """The columns that ``aggregate(...)`` makes."""
        names: tuple[str, ...] = ()
        if isinstance(flat, nodes.Alias):
            names, flat = flat.names, flat.this
        place = self._aggregate(flat)
        call = self.calls[-1]
        names = names or getattr(call.udf, "_alias_names", ())
        fields = _fields_of(call, names)
        if not names and any(name in self._by_name for name, _ in fields):  # as Flink calls them, always
            fields = [(f"TMP_0${name}", kind) for name, kind in fields]
        if isinstance(call.type, t.RowType):
            return {name: nodes.Dot(place, nodes.Identifier(own)) for (name, _), own in zip(fields, call.type.names)}
        return {name: place for name, _ in fields}

    def replace(self, node: nodes.Node, known: dict[str, nodes.Node]) -> nodes.Node:
        """The node with aggregates, keys and window properties as columns of the result."""
        width = len(self._grouping.keys)
        names = list(known)

        def put(part: nodes.Node) -> nodes.Node | None:
            if isinstance(part, nodes.Position):  # of an expansion: the keys, then the columns of the flat aggregate
                return part if part.index < width else known[names[part.index - width]]
            if isinstance(part, nodes.WindowProperty):
                return self._checked(part)
            key = self._keys.get(repr(part))
            if key is None and isinstance(part, nodes.Column):
                key = self._by_name.get(part.name)
            if key is not None:
                return nodes.Position(key, shown(part))
            if is_aggregate_call(part, self._block):
                return self._aggregate(part)
            if isinstance(part, nodes.Column):
                return known.get(part.name) or self._neither(part)
            return None

        return node.rewritten(put)

    def _aggregate(self, node: nodes.Node) -> nodes.Position:
        found = self._known.get(repr(node))
        if found is None:
            found = self._known[repr(node)] = len(self.calls)
            empty = not self._grouping.keys and self._grouping.window is None
            self.calls.append(bind_aggregate(node, self._block, may_be_empty=empty))
            self._found.append(repr(node))
        return nodes.Position(len(self._grouping.keys) + found, shown(node))

    def _checked(self, node: nodes.WindowProperty) -> nodes.WindowProperty:
        window = self._grouping.window
        alias = node.this.name if isinstance(node.this, nodes.Column) else None
        if window is None or alias != window.alias:
            raise problem(f"{shown(node)}: no group window has the alias {shown(node.this)}")
        if window.spec.kind == "ROWS":
            raise problem(f"{shown(node)}: a window of rows has no start, end or time")
        if node.property not in self.properties:
            self.properties.append(node.property)
            self._found.append(repr(node))
        return node

    def with_names(self, items: Sequence[Item]) -> list[Item]:
        """Aggregates and window properties without a name are called ``EXPR$0``, ``EXPR$1``, ..."""
        found: list[Item] = []
        for item in items:
            name = item.name if item.name is not None else self._own_name(item.node)
            known = name in (each.name for each in found)
            found.append(item if known else Item(item.node, name))
        return found

    def _own_name(self, node: nodes.Node) -> str | None:
        if isinstance(node, nodes.Cast):
            base = self._own_name(node.this)
            return None if base is None else f"{base}-{node.to.data_type}"
        return f"EXPR${self._found.index(repr(node))}" if repr(node) in self._found else None

    def placed(self, node: nodes.Node) -> nodes.Node:
        """The node with window properties as columns, which lie behind the keys and all aggregates."""
        behind = len(self._grouping.keys) + len(self.calls)

        def put(part: nodes.Node) -> nodes.Node | None:
            if isinstance(part, nodes.WindowProperty):
                return nodes.Position(behind + self.properties.index(part.property), shown(part))
            return None

        return node.rewritten(put)

    def _neither(self, node: nodes.Column) -> nodes.Node:
        column_at(node.name, self._block)  # an unknown column is the better message
        raise problem(f"column '{node.name}' is neither a key of the grouping nor inside an aggregate")


def _plain(node: nodes.Node) -> nodes.Node:
    return node.this if isinstance(node, nodes.Alias) else node


def _fields_of(call: AggCall, names: Sequence[str]) -> list[tuple[str, t.DataType]]:
    """The columns that a function of the user makes: the fields of its row, or one."""
    if isinstance(call.type, t.RowType):
        own, kinds = call.type.names, call.type.field_types()
    else:
        own, kinds = ["f0"], [call.type]
    if names and len(names) != len(own):
        raise problem(f"{call.function} makes {len(own)} columns, and alias gives {len(names)} names")
    return list(zip(names or own, kinds))


# Group windows

_TIMES = (t.TimestampType, t.LocalZonedTimestampType)


def bound_window(window: GroupWindow, block: Block, streaming: bool) -> BoundWindow:
    """The window over a column.

    :raises TableException: the column is no time attribute (in batch: no timestamp).
    """
    parts = window._parts
    assert parts.time is not None
    time = bind(parts.time, block)
    if not isinstance(time, Ref):
        raise problem(f"on({shown(parts.time)}): a window is over a column")
    column = block.columns[time.index]
    if column.time is None and (streaming or not isinstance(column.type, _TIMES)):
        what = f"a time attribute, and '{column.name}' is a plain {column.type}"
        raise problem(f"a window is over {what}: declare WATERMARK FOR it, or use PROCTIME()")
    if any(each.name == window.name for each in block.columns):
        raise problem(f"the window is called '{window.name}', as a column of the table is: give it another alias")
    if isinstance(parts.size, nodes.RowCount):
        return BoundWindow(_rows(window, streaming and column.time == PROCTIME), time.index, window.name)
    slide = None if parts.slide is None else _millis(parts.slide)
    return BoundWindow(WindowSpec(parts.kind, _millis(parts.size), slide), time.index, window.name)


def _rows(window: GroupWindow, processing_time: bool) -> WindowSpec:
    """A window of a number of rows, in the order of their arrival."""
    parts = window._parts
    if parts.kind == "SESSION":
        raise problem(f"the gap of a session is a span of time, as in lit(10).minutes, not {shown(parts.size)}")
    if not processing_time:
        raise problem(
            f"the window '{window.name}' of a number of rows is over PROCTIME() in streaming mode: rows have no other "
            f"order that is settled when they come"
        )
    slide = parts.slide
    if slide is not None and not isinstance(slide, nodes.RowCount):
        raise problem(f"a window of rows begins again every so many rows, as in row_interval(5), not {shown(slide)}")
    return WindowSpec(ROWS, _count(parts.size), None if slide is None else _count(slide))


def _count(node: nodes.Node) -> int:
    assert isinstance(node, nodes.RowCount)
    if node.rows < 1:
        raise problem(f"a window of {node.rows} rows: its size and slide are greater than 0")
    return node.rows


def _millis(node: nodes.Node) -> int:
    if isinstance(node, nodes.Constant) and isinstance(node.value, datetime.timedelta):
        millis = node.value // datetime.timedelta(milliseconds=1)
        if millis > 0:
            return millis
        raise problem(f"a window of {millis} ms: its size and slide are greater than 0")
    raise problem(f"the size of a window is a span of time, as in lit(10).minutes, not {shown(node)}")


# over_window

_UNBOUNDED = ("UNBOUNDED_ROW", "UNBOUNDED_RANGE")


def over_select(plan: Rel, windows: Sequence[OverWindow], fields: Sequence[nodes.Node], block: Block) -> Rel:
    """The columns of a select with ``over`` calls."""
    items = expand(fields, block)
    calls: dict[str, list[nodes.Window]] = {window.name: [] for window in windows}
    for item in items:
        for part in item.node.find_all(nodes.Window):
            calls[_window_name(part, calls)].append(part)
    places: dict[str, Ref] = {}
    for window in windows:
        own = {repr(call): call for call in calls[window.name]}
        if own:
            width = len(plan.schema)
            plan = _over(plan, window, list(own.values()), block)
            places |= {
                key: Ref(column.type, at) for at, (key, column) in enumerate(zip(own, plan.schema[width:]), width)
            }

    def placed(part: nodes.Node) -> Rex | None:
        return places[repr(part)] if isinstance(part, nodes.Window) else None

    with_results = replace(block, intercept=placed)
    return project(plan, [bind(item.node, with_results) for item in items], named(items))


def _window_name(call: nodes.Window, known: Iterable[str]) -> str:
    name = "" if call.alias is None else call.alias.this
    if name not in known:
        raise problem(f"{shown(call)}: no over window has the alias {name}; there are {', '.join(known)}")
    return name


def _over(plan: Rel, window: OverWindow, calls: Sequence[nodes.Window], block: Block) -> Rel:
    """One node for all calls over one window."""
    partition = [_column_index(node, block, "partition_by") for node in window.partition]
    order = _order(window, block)
    frame = _frame(window)
    bound = [bind_over_function(call.this, block, may_be_empty=True) for call in calls]
    produced = tuple(Field(f"over{index}", call.type) for index, call in enumerate(bound))
    return Over(plan, tuple(partition), order, tuple((call, frame) for call in bound), produced)


def _column_index(node: nodes.Node, block: Block, where: str) -> int:
    found = bind(node, block)
    if not isinstance(found, Ref):
        raise problem(f"{where} takes columns, not {shown(node)}: compute it with add_columns first")
    return found.index


def _order(window: OverWindow, block: Block) -> tuple[SortKey, ...]:
    node, descending = window.order, False
    if isinstance(node, nodes.Ordered):
        descending, node = node.desc, node.this
    return (SortKey(block.ref(_column_index(node, block, "order_by")), descending, not descending),)


def _frame(window: OverWindow) -> Frame:
    rows, preceding = _bound(window.preceding, "preceding")
    if window.following is None:
        return Frame(rows, preceding, 0)
    also_rows, following = _bound(window.following, "following")
    if rows != also_rows:
        raise problem("preceding and following of an over window are both rows, or both times")
    return Frame(rows, preceding, following)


def _bound(node: nodes.Node, where: str) -> tuple[bool, int | None]:
    """Whether rows are meant, and how many (or ms); None for unbounded."""
    if isinstance(node, nodes.Var):
        return node.name.endswith("_ROW"), None if node.name in _UNBOUNDED else 0
    if isinstance(node, nodes.RowCount):
        return True, node.rows
    if isinstance(node, nodes.Constant) and isinstance(node.value, datetime.timedelta):
        return False, node.value // datetime.timedelta(milliseconds=1)
    raise problem(
        f"{where}({shown(node)}) of an over window: give row_interval(n), a span such as lit(5).minutes, or a constant "
        "such as UNBOUNDED_RANGE"
    )


# match_recognize


def match(
    plan: Rel,
    block: Block,
    clauses: str,
    order_by: Any,
    partition_by: Any,
    measures: Mapping[str, Any],
    define: Mapping[str, Any],
    within: Any,
    subsets: Mapping[str, Sequence[str]],
) -> Match:
    """The matches in a table. ``clauses``: the text from ONE ROW or ALL ROWS on to PATTERN."""
    read = parse_match(clauses)
    tree = nodes.MatchRecognize(
        this=nodes.Var("table"),
        pattern=read.pattern,
        define=tuple(map(_alias, define, define.values())),
        partition_by=tuple(map(_column_node, _several(partition_by))),
        order=nodes.Order(tuple(map(_ordered, _several(order_by)))),
        measures=tuple(map(_alias, measures, measures.values())),
        rows=read.rows,
        empty=read.empty,
        after=read.after,
        anchors=read.anchors,
        within=_interval(within),
        subsets=tuple(_subset(name, members) for name, members in subsets.items()),
    )
    return rel_of(plan, tree, From(block.environment))


def _several(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _expression(given: Any) -> nodes.Node:
    """SQL text, or an expression."""
    return parse_expression(given) if isinstance(given, str) else expression_of(given)


def _alias(name: str, given: Any) -> nodes.Alias:
    return nodes.Alias(this=_expression(given), alias=nodes.Identifier(name))


def _column_node(given: Any) -> nodes.Node:
    return nodes.Column.named(given) if isinstance(given, str) else expression_of(given)


def _ordered(given: Any) -> nodes.Ordered:
    node = _column_node(given)
    return node if isinstance(node, nodes.Ordered) else nodes.Ordered(node)


def _subset(name: str, members: Sequence[str]) -> nodes.Alias:
    names = nodes.Tuple(expressions=tuple(map(nodes.Identifier, members)))
    return nodes.Alias(this=names, alias=nodes.Identifier(name))


def _interval(given: Any) -> nodes.Node | None:
    if given is None:
        return None
    if isinstance(given, str):
        return parse_expression(given)
    if not isinstance(given, datetime.timedelta) and not hasattr(given, "_node"):
        raise problem(f"within is a timedelta, an expression such as lit(10).minutes, or SQL text, not {given!r}")
    return node_of(given)
