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
from millrace.table.queries import unbound as u
from millrace.table.queries.binding import Binder, is_aggregate_call
from millrace.table.queries.expression_text import text
from millrace.table.queries.problems import problem
from millrace.table.queries.projection import Item, expand, named, project
from millrace.table.udf import UserDefinedAggregateFunctionWrapper


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
    binder: Binder
    keys: tuple[Item, ...]
    window: BoundWindow | None = None

    def select(self, fields: Sequence[u.Node], flat: u.Node | None = None) -> Rel:
        """The columns of a select over the groups.

        :param flat: the aggregate of ``aggregate(...)``, whose fields are columns by name.
        """
        plan, positions = self._with_keys()
        over = self.binder if plan is self.plan else Binder(plan.schema, self.binder.environment)
        calls = _Calls(self, over)
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
        result = Binder(grouped.schema, self.binder.environment)
        names = named(calls.with_names(items))
        return project(grouped, [result.bind(calls.placed(node)) for node in replaced], names)

    def flat(self, node: u.Node) -> Rel:
        """The rows that a table aggregate function makes of every group, behind the keys."""
        names: tuple[str, ...] = ()
        if isinstance(node, u.Alias):
            names, node = node.names, node.child
        plan, positions = self._with_keys()
        call = Binder(plan.schema, self.binder.environment).aggregate(node)
        if not isinstance(call.udf, UserDefinedAggregateFunctionWrapper) or not call.udf.is_table_aggregate:
            raise problem(f"{text(node)} is no table aggregate function: make one with udtaf()")
        fields = _fields_of(call, names or call.udf._alias_names)
        keys = [replace(plan.schema[at], name=name, time=None) for name, at in zip(self._names(), positions)]
        return TableAggregate(plan, positions, call, (*keys, *(Field(name, kind) for name, kind in fields)))

    def _names(self) -> list[str]:
        return named(self.keys)

    def _selectable(self, known: dict[str, u.Node]) -> Binder:
        """The columns that a select can name: the keys, and those of a flat aggregate. Their types come later."""
        return Binder(tuple(Field(name, t.NullType()) for name in (*self._names(), *known)))

    def _with_keys(self) -> tuple[Rel, tuple[int, ...]]:
        """The input with computed keys as columns behind its own."""
        plan, positions = self.plan, []
        extra: list[Rex] = []
        for key in self.keys:
            rex = self.binder.bind(key.node)
            if isinstance(rex, Ref):
                positions.append(rex.index)
            else:
                positions.append(len(plan.schema) + len(extra))
                extra.append(rex)
        if extra:
            own = [self.binder.ref(index) for index in range(len(plan.schema))]
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

    def __init__(self, grouping: Grouping, binder: Binder) -> None:
        self._grouping = grouping
        self._binder = binder
        self._keys = {repr(_plain(key.node)): index for index, key in enumerate(grouping.keys)}
        self._by_name = {name: index for index, name in enumerate(grouping._names())}
        self._known: dict[str, int] = {}
        self.calls: list[AggCall] = []
        self.properties: list[str] = []
        self._found: list[str] = []
        """aggregates and properties in the order of the select"""

    def columns_of(self, flat: u.Node) -> dict[str, u.Node]:
        """The columns that ``aggregate(...)`` makes."""
        names: tuple[str, ...] = ()
        if isinstance(flat, u.Alias):
            names, flat = flat.names, flat.child
        place = self._aggregate(flat)
        call = self.calls[-1]
        names = names or getattr(call.udf, "_alias_names", ())
        fields = _fields_of(call, names)
        if isinstance(call.type, t.RowType):
            return {name: u.Get(place, own) for (name, _), own in zip(fields, call.type.names)}
        return {name: place for name, _ in fields}

    def replace(self, node: u.Node, known: dict[str, u.Node]) -> u.Node:
        """The node with aggregates, keys and window properties as columns of the result."""
        width = len(self._grouping.keys)
        names = list(known)

        def put(part: u.Node) -> u.Node | None:
            if isinstance(part, u.Bound):  # of an expansion: the keys, then the columns of the flat aggregate
                return part if part.index < width else known[names[part.index - width]]
            if isinstance(part, u.WindowProperty):
                return self._checked(part)
            key = self._keys.get(repr(part))
            if key is None and isinstance(part, u.Column):
                key = self._by_name.get(part.name)
            if key is not None:
                return u.Bound(key, text(part))
            if is_aggregate_call(part, self._binder):
                return self._aggregate(part)
            if isinstance(part, u.Column):
                return known.get(part.name) or self._neither(part)
            return None

        return u.rewrite(node, put)

    def _aggregate(self, node: u.Node) -> u.Bound:
        found = self._known.get(repr(node))
        if found is None:
            found = self._known[repr(node)] = len(self.calls)
            empty = not self._grouping.keys and self._grouping.window is None
            self.calls.append(self._binder.aggregate(node, may_be_empty=empty))
            self._found.append(repr(node))
        return u.Bound(len(self._grouping.keys) + found, text(node))

    def _checked(self, node: u.WindowProperty) -> u.WindowProperty:
        window = self._grouping.window
        alias = node.child.name if isinstance(node.child, u.Column) else None
        if window is None or alias != window.alias:
            raise problem(f"{text(node)}: no group window has the alias {text(node.child)}")
        if window.spec.kind == "ROWS":
            raise problem(f"{text(node)}: a window of rows has no start, end or time")
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

    def _own_name(self, node: u.Node) -> str | None:
        if isinstance(node, u.Cast) and not node.safe:
            base = self._own_name(node.child)
            return None if base is None else f"{base}-{node.type}"
        return f"EXPR${self._found.index(repr(node))}" if repr(node) in self._found else None

    def placed(self, node: u.Node) -> u.Node:
        """The node with window properties as columns, which lie behind the keys and all aggregates."""
        behind = len(self._grouping.keys) + len(self.calls)

        def put(part: u.Node) -> u.Node | None:
            if isinstance(part, u.WindowProperty):
                return u.Bound(behind + self.properties.index(part.property), text(part))
            return None

        return u.rewrite(node, put)

    def _neither(self, node: u.Column) -> u.Node:
        self._binder.index(node.name)  # an unknown column is the better message
        raise problem(f"column '{node.name}' is neither a key of the grouping nor inside an aggregate")


def _plain(node: u.Node) -> u.Node:
    return node.child if isinstance(node, u.Alias) else node


def _fields_of(call: AggCall, names: Sequence[str]) -> list[tuple[str, t.DataType]]:
    """The columns that a function of the user makes: the fields of its row, or one."""
    if isinstance(call.type, t.RowType):
        own, kinds = call.type.names, call.type.field_types()
    else:
        own, kinds = ["f0"], [call.type]
    if names and len(names) != len(own):
        raise problem(f"{call.function} makes {len(own)} columns, and alias gives {len(names)} names")
    return list(zip(names or own, kinds))
