"""Aggregates of a table: keys, a group window, and the columns of the select over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from millrace.relational import types as t
from millrace.relational.nodes import (
    PROCTIME,
    ROWTIME,
    Aggregate,
    Field,
    Rel,
    TableAggregate,
    WindowAggregate,
    WindowSpec,
)
from millrace.relational.rex import AggCall, Ref, Rex
from millrace.table.queries.projection import Item, expand, named, project
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.calls import find_user_function
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.names import column_at
from millrace.table.sql.binding.queries.aggregates import bind_aggregate, is_aggregate_call
from millrace.table.sql.binding.resolver import TABLE_AGGREGATE
from millrace.table.sql.writing.programs import shown
from millrace.table.values.problems import problem


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
