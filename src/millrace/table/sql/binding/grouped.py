"""Binds queries with groups: GROUP BY with its keys, grouping sets and group windows; keys and aggregates in the
SELECT list, HAVING and ORDER BY; and OVER."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal
from itertools import combinations, product
from typing import Any, TypeGuard

from millrace.relational import types as t
from millrace.relational.functions.registry import cast_to
from millrace.relational.nodes import (
    PROCTIME,
    Aggregate,
    Field,
    Over,
    Project,
    Rel,
    Schema,
    WindowAggregate,
    WindowSpec,
)
from millrace.relational.rex import AggCall, Distance, Frame, Literal, Ref, Rex, SortKey, rewrite
from millrace.relational.rules.window_rules import window_aggregate
from millrace.relational.types import BigIntType, DataType, LocalZonedTimestampType, TimestampType
from millrace.table.sql import nodes
from millrace.table.sql.binding.calls import (
    GROUP_WINDOWS,
    GROUPINGS,
    bind_aggregate,
    bind_over_function,
    call_arguments,
    call_name,
    core,
    is_aggregate_call,
    sort_keys,
    window_property,
)
from millrace.table.sql.binding.expressions import milliseconds
from millrace.table.sql.binding.from_clause import QueryHints, input_hinted
from millrace.table.sql.binding.scope import (
    Block,
    bind,
    bind_all,
    binds,
    by_program,
    constant,
    fail,
    field_of,
    unnested,
)
from millrace.table.sql.text import SqlValidationError
from millrace.util.names import did_you_mean
from millrace.util.record import Record

# Group windows

_SYNTAX = {
    "TUMBLE": "TUMBLE(time_attr, size_interval [, offset_time])",
    "HOP": "HOP(time_attr, slide_interval, size_interval [, offset_time])",
    "SESSION": "SESSION(time_attr, gap_interval)",
}


class GroupWindow(Record):
    """A window of GROUP BY over the column ``time`` of the FROM clause."""

    spec: WindowSpec
    time: Ref


def is_group_window(tree: nodes.Node) -> TypeGuard[nodes.Call]:
    return call_name(tree) in GROUP_WINDOWS


def bind_group_window(tree: nodes.Call, block: Block) -> GroupWindow:
    """``TUMBLE(ts, INTERVAL '10' MINUTE)`` and its like."""
    kind = call_name(tree)
    arguments = tree.expressions
    intervals = {"TUMBLE": (1, 2), "HOP": (2, 3), "SESSION": (1, 1)}[kind]
    if not intervals[0] + 1 <= len(arguments) <= intervals[1] + 1:
        fail(tree, f"{kind} is called as {_SYNTAX[kind]}")
    time = bind(arguments[0], block)
    times = [milliseconds(each, block) for each in arguments[1:]]
    _check_time(arguments[0], kind, time, block)
    assert isinstance(time, Ref)
    if kind == "TUMBLE":
        return GroupWindow(WindowSpec(kind, times[0], None, times[1] if len(times) > 1 else 0), time)
    if kind == "HOP":
        return GroupWindow(WindowSpec(kind, times[1], times[0], times[2] if len(times) > 2 else 0), time)
    return GroupWindow(WindowSpec(kind, times[0]), time)


def _check_time(tree: nodes.Node, kind: str, time: Rex, block: Block) -> None:
    attribute = isinstance(time, Ref) and block.scope.fields[time.index].time is not None
    if block.environment.resolver.streaming and not attribute:
        fail(
            tree,
            f"{kind} needs a time attribute: a column with a WATERMARK, or PROCTIME(), that no computation and no "
            f"regular join has come between",
        )
    if not isinstance(time, Ref) or not isinstance(time.type, (TimestampType, LocalZonedTimestampType)):
        fail(tree, f"{kind} needs a column of type TIMESTAMP or TIMESTAMP_LTZ, and this is {time.type}")


def property_fields(window: GroupWindow, properties: list[str], columns: Schema) -> Schema:
    """The columns that the properties of a window become."""
    return tuple(_property(each, columns[window.time.index]) for each in properties)


def _property(name: str, time: Field) -> Field:
    if name == "ROWTIME":
        return Field("w$rowtime", time.type, time.time)
    if name == "PROCTIME":
        return Field("w$proctime", LocalZonedTimestampType(3, False), PROCTIME)
    return Field(f"w${name.lower()}", property_type(name, time))


def property_type(name: str, time: Field) -> DataType:
    """The type of TUMBLE_START and its like."""
    if name == "ROWTIME":
        return time.type
    return LocalZonedTimestampType(3, False) if name == "PROCTIME" else TimestampType(3, False)


# Frames of OVER

_ALL = Frame(True, None, 0)
_ROWS_ONLY = ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD")
_TIMES = (t.DateType, t.TimestampType, t.LocalZonedTimestampType)


def frame_of(tree: nodes.Window, function: str, order: Sequence[SortKey], spec: Any, block: Block) -> Frame:
    """The frame of a call."""
    if function in _ROWS_ONLY:
        if spec is not None:
            fail(tree, f"{function} has no frame: leave ROWS or RANGE away")
        if not order and function != "ROW_NUMBER":
            fail(tree, f"{function} needs an ORDER BY in its OVER clause")
        return _ALL
    if spec is None:
        return Frame(False, None, 0 if order else None)
    rows = spec.kind == "ROWS"
    if not order and not rows:
        fail(tree, "a RANGE needs an ORDER BY in the OVER clause")
    preceding = _bound(spec, "start", order, block)
    following = _bound(spec, "end", order, block)
    return Frame(rows, preceding, following)


def _bound(spec: Any, side: str, order: Sequence[SortKey], block: Block) -> Distance | None:
    """How far a bound lies outside of the current row: before it for ``start``, behind it for ``end``; negative on the
    other side of it. None for UNBOUNDED."""
    value = getattr(spec, side)
    if value == "UNBOUNDED":
        return None
    if value is None or value == "CURRENT ROW":
        return 0
    bound = constant(bind(value, block), block.zone)
    outside = "PRECEDING" if side == "start" else "FOLLOWING"
    sign = 1 if getattr(spec, f"{side}_side") == outside else -1
    if not isinstance(bound, Literal) or bound.value is None:
        fail(value, "the bound of a frame must be a constant")
    if spec.kind != "ROWS":
        return _distance(value, bound, sign, order)
    if not isinstance(bound.type, t.IntegralType):
        fail(value, "a bound of ROWS is a number of rows")
    return sign * int(bound.value)


def _distance(tree: nodes.Node, bound: Literal, sign: int, order: Sequence[SortKey]) -> Distance:
    """What a bound of RANGE is in numbers that the column of the ORDER BY has: no value lies between it and the bound
    that is written."""
    kind = order[0].expression.type
    if len(order) > 1:
        fail(tree, f"a RANGE with a distance is measured in one column: the ORDER BY has {len(order)}")
    if isinstance(bound.type, t.DayTimeIntervalType):
        if not isinstance(kind, _TIMES):
            fail(tree, f"a RANGE with an INTERVAL needs an ORDER BY of a DATE or timestamp, and this is {kind}")
        return sign * int(bound.value // datetime.timedelta(milliseconds=1))
    if not isinstance(bound.type, t.NumericType):
        fail(tree, "a bound of RANGE is an INTERVAL, or a number where the ORDER BY is one")
    if not isinstance(kind, t.NumericType):
        wanted = ": write an INTERVAL" if isinstance(kind, _TIMES) else ""
        fail(tree, f"a RANGE with a number needs an ORDER BY of a number, and this is {kind}{wanted}")
    if isinstance(kind, (t.FloatType, t.DoubleType)):
        return sign * float(bound.value)
    digits = kind.scale if isinstance(kind, t.DecimalType) else 0
    near = (sign * Decimal(str(bound.value))).quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR)
    return near if digits else int(near)


# OVER

_OVERS = 4_000_000
"""The first column number of references to results of OVER, until it is known how many columns come before them."""


class _Call(Record):
    partition: tuple[Rex, ...]
    order: tuple[SortKey, ...]
    call: AggCall
    frame: Frame


@binds(nodes.Window)
def _misplaced(tree: nodes.Window, block: Block) -> Rex:
    instead = "compute it in a subquery, or filter with QUALIFY"
    if by_program(tree):
        instead = "it stands in the select of over_window"
    fail(tree, f"OVER is not allowed in {block.place}: {instead}")


class Overs:
    """Collects the OVER calls of a query while its expressions are bound, and then makes nodes of them."""

    def __init__(self, windows: Sequence[nodes.Window]) -> None:
        self._windows = {nodes.name_of(window.this): window for window in windows}
        self._calls: list[_Call] = []
        self._places: dict[int, int] = {}

    def add(self, tree: nodes.Window, block: Block) -> Rex:
        """An OVER call in an expression of ``block``."""
        inside = replace(block, intercept=self._no_nesting(block), place="an OVER clause")
        partition, order, spec = self._window(tree)
        function = bind_over_function(tree.this, inside)
        keys = tuple(dict.fromkeys(bind_all(partition, inside)))
        sorting = sort_keys(order, inside)
        frame = frame_of(tree, function.function, sorting, spec, inside)
        call = _Call(keys, sorting, _with_default(function, inside.zone), frame)
        if call not in self._calls or function.udf is not None:
            self._calls.append(call)
            return Ref(function.type, _OVERS + len(self._calls) - 1)
        return Ref(function.type, _OVERS + self._calls.index(call))

    def plan(self, source: Rel, settle: Callable[[Rex], Rex]) -> Rel:
        """The results of all calls behind the columns of ``source``: one node for calls of equal windows."""
        groups: dict[tuple[tuple[Rex, ...], tuple[SortKey, ...]], list[int]] = {}
        for index, call in enumerate(self._calls):
            groups.setdefault((call.partition, call.order), []).append(index)
        for (partition, order), members in groups.items():
            calls = [self._calls[index].call.map(settle) for index in members]
            sorting = [replace(key, expression=settle(key.expression)) for key in order]
            keys = [settle(each) for each in partition]
            source, column = _with_columns(source, [*keys, *(key.expression for key in sorting), *_inputs(calls)])
            width = len(source.schema)
            frames = [self._calls[index].frame for index in members]
            source = Over(
                source,
                tuple(_place(column(each)) for each in keys),
                tuple(replace(key, expression=column(key.expression)) for key in sorting),
                tuple((call.map(column), frame) for call, frame in zip(calls, frames)),
                tuple(Field(f"w{index}$o", call.type) for index, call in zip(members, calls)),
            )
            self._places.update({index: width + at for at, index in enumerate(members)})
        return source

    def settle(self, expression: Rex) -> Rex:
        """An expression with the final places of the results, after ``plan``."""

        def part(each: Rex) -> Rex | None:
            if isinstance(each, Ref) and each.index >= _OVERS:
                return replace(each, index=self._places[each.index - _OVERS])
            return None

        return rewrite(expression, part)

    def _no_nesting(self, block: Block) -> Callable[[nodes.Node], Rex | None]:
        def intercept(tree: nodes.Node) -> Rex | None:
            if isinstance(tree, nodes.Window):
                fail(tree, "OVER calls cannot be nested: compute the inner one in a subquery")
            return None if block.intercept is None else block.intercept(tree)

        return intercept

    def _window(self, tree: nodes.Window) -> tuple[list[nodes.Node], list[nodes.Ordered], nodes.Node | None]:
        """What an OVER clause says, with what the window that it names says."""
        partition = list(tree.partition_by or [])
        order = list(tree.order.expressions) if tree.order is not None else []
        spec = tree.spec
        alias = tree.alias
        if alias is None:
            return partition, order, spec
        base = self._windows.get(alias.name)
        if base is None:
            fail(
                alias,
                f"there is no window '{alias.name}' in the WINDOW clause{did_you_mean(alias.name, self._windows)}",
            )
        base_partition, base_order, base_spec = self._window(base)
        return base_partition or partition, order or base_order, spec or base_spec


def _with_default(call: AggCall, zone: str) -> AggCall:
    if call.function in ("LAG", "LEAD") and len(call.args) == 3:
        return replace(call, args=(*call.args[:2], constant(cast_to(call.args[2], call.args[0].type), zone)))
    return call


def _inputs(calls: Sequence[AggCall]) -> list[Rex]:
    return [each for call in calls for each in call.inputs() if not isinstance(each, Literal)]


def _with_columns(source: Rel, wanted: Sequence[Rex]) -> tuple[Rel, Callable[[Rex], Rex]]:
    """The input with what is computed in an OVER clause as columns behind its own; and where each of it is."""
    width = len(source.schema)
    computed = list(dict.fromkeys(each for each in wanted if not isinstance(each, Ref)))
    if computed:
        kept = [Ref(column.type, index) for index, column in enumerate(source.schema)]
        names = [field_of(f"$p{width + at}", each, ()) for at, each in enumerate(computed)]
        source = unnested(Project(source, (*kept, *computed), (*source.schema, *names)))
    places = {each: width + at for at, each in enumerate(computed)}
    return source, lambda each: Ref(each.type, places[each]) if each in places else each


def _place(column: Rex) -> int:
    assert isinstance(column, Ref)
    return column.index


# GROUP BY

_Set = tuple[nodes.Node, ...]


class Keys(Record):
    """What a query groups by."""

    expressions: tuple[Rex, ...] = ()
    """over the columns of FROM; all different"""
    sets: tuple[tuple[int, ...], ...] | None = None
    """positions in ``expressions``; None: one set with all of them"""
    window: GroupWindow | None = None

    def always(self, position: int) -> bool:
        """Whether a key is in every set, so that grouping does not make it NULL."""
        return self.sets is None or all(position in each for each in self.sets)

    @property
    def repeated(self) -> bool:
        """Whether a set occurs several times."""
        return self.sets is not None and len(set(self.sets)) < len(self.sets)

    @property
    def may_be_empty(self) -> bool:
        """Whether there is a group also without any row."""
        return (not self.expressions and self.window is None) or (self.sets is not None and () in self.sets)


def bind_keys(group: nodes.Group | None, block: Block, aliases: Sequence[str]) -> Keys:
    """The keys of a GROUP BY.

    :param aliases: names that the SELECT list gives, for the error of those who group by one.
    """
    items = [] if group is None else list(group.expressions)
    windows = [item for item in items if is_group_window(item)]
    if len(windows) > 1:
        fail(windows[1], "a query can be grouped by one group window only")
    window = bind_group_window(windows[0], block) if windows else None
    choices = [_sets_of(item) for item in items if not is_group_window(item)]
    keys: list[Rex] = []
    sets = [
        tuple(dict.fromkeys(_position(each, block, keys, aliases) for part in combination for each in part))
        for combination in product(*choices)
    ]
    plain = not any(isinstance(item, (nodes.GroupingSets, nodes.Rollup, nodes.Cube)) for item in items)
    if plain:
        return Keys(tuple(keys), None, window)
    wanted = [tuple(sorted(each)) for each in sets]
    return Keys(tuple(keys), tuple(dict.fromkeys(wanted) if group is not None and group.distinct else wanted), window)


def _position(tree: nodes.Node, block: Block, keys: list[Rex], aliases: Sequence[str]) -> int:
    try:
        key = bind(tree, block)
    except SqlValidationError as error:
        plain = isinstance(tree, nodes.Column) and not tree.table
        name = nodes.name_of(tree)
        if plain and name in aliases and not block.scope.find(name):
            fail(tree, f"'{name}' is a name of the SELECT list: GROUP BY must repeat the expression")
        raise error
    if key not in keys:
        keys.append(key)
    return keys.index(key)


def _sets_of(item: nodes.Node) -> list[_Set]:
    if isinstance(item, nodes.GroupingSets):
        return [each for part in item.expressions for each in _sets_of(part)]
    if isinstance(item, nodes.Rollup):
        parts = [_columns(part) for part in item.expressions]
        return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
    if isinstance(item, nodes.Cube):
        parts = [_columns(part) for part in item.expressions]
        return [_joined(each) for size in range(len(parts), -1, -1) for each in combinations(parts, size)]
    return [_columns(item)]


def _columns(item: nodes.Node) -> _Set:
    return tuple(item.expressions) if isinstance(item, nodes.Tuple) else (item,)


def _joined(parts: Iterable[_Set]) -> _Set:
    return tuple(each for part in parts for each in part)


# Queries with groups

_AGGREGATES, _PROPERTIES = 1_000_000, 2_000_000
"""The first column numbers of references to aggregates and window properties, until it is known how many there are."""


class Grouped:
    """Collects the aggregates of a query while its expressions are bound, and then makes the node of them."""

    def __init__(self, source: Rel, base: Block, keys: Keys, overs: Overs, hints: QueryHints) -> None:
        self._source = source
        self._keys = keys
        self._calls: list[AggCall] = []
        self._properties: list[str] = []
        self._overs = overs
        self._hints = hints
        self._rows = base.at("an aggregate function")
        """what is computed before grouping"""
        self._groups = replace(base.at("a grouped query"), expose=self._key)
        """what is computed after it, of keys"""
        self.block = replace(base, intercept=self._intercept, expose=self._key, place="a grouped query")

    def column(self, expression: Rex, tree: nodes.Node) -> Rex:
        """The column of the grouped query that stands for a column of FROM, when ``*`` is bound."""
        return self._key(expression, tree)

    def _intercept(self, tree: nodes.Node) -> Rex | None:
        if isinstance(tree, nodes.Window):
            return self._overs.add(tree, self.block)
        name = call_name(tree)
        if name in GROUPINGS:
            return self._grouping(tree, name)
        if isinstance(tree, nodes.Call) and window_property(name) is not None and self._keys.window is not None:
            return self._property(tree, name)
        if is_aggregate_call(tree, self._rows):
            call = bind_aggregate(tree, self._rows, self._keys.may_be_empty)
            return Ref(call.type, _AGGREGATES + self._place(call))
        if _has_aggregate(tree, self._rows):
            return None
        return self._key(bind(tree, self._groups), tree)

    def _place(self, call: AggCall) -> int:
        if call not in self._calls or call.udf is not None:
            self._calls.append(call)
            return len(self._calls) - 1
        return self._calls.index(call)

    def _key(self, expression: Rex, tree: nodes.Node) -> Rex:
        def part(each: Rex) -> Rex | None:
            if each in self._keys.expressions:
                return self._ref(self._keys.expressions.index(each))
            if isinstance(each, Ref):
                name = self._rows.scope.fields[each.index].name
                where = next((part for part in tree.find_all(nodes.Column) if part.name == name), tree)
                hint = "; GROUP BY takes expressions, no positions" if self._by_position() else ""
                fail(where, f"column '{name}' is neither in GROUP BY nor in an aggregate function{hint}")
            return None

        return rewrite(expression, part)

    def _by_position(self) -> bool:
        return any(isinstance(each, Literal) for each in self._keys.expressions)

    def _ref(self, position: int) -> Ref:
        key = self._keys.expressions[position]
        return Ref(key.type if self._keys.always(position) else key.type.nullable(), position)

    def _grouping(self, tree: nodes.Node, name: str) -> Rex:
        keys = bind_all(call_arguments(tree), self._rows.at(name))
        for key, written in zip(keys, call_arguments(tree)):
            if key not in self._keys.expressions:
                fail(written, f"an argument of {name} must be one of the expressions of GROUP BY")
        if not keys and name != "GROUP_ID":
            fail(tree, f"{name} needs at least one expression of GROUP BY")
        if self._keys.sets is None or (name == "GROUP_ID" and not self._keys.repeated):
            return Literal(BigIntType(False), 0)
        call = AggCall("GROUP_ID" if name == "GROUP_ID" else "GROUPING", tuple(keys), BigIntType(False))
        return Ref(call.type, _AGGREGATES + self._place(call))

    def _property(self, tree: nodes.Call, name: str) -> Rex:
        window = self._keys.window
        assert window is not None
        kind, what = name.split("_")
        same = nodes.Call(this=kind, expressions=tree.expressions)
        if kind != window.spec.kind or bind_group_window(same, self._rows) != window:
            fail(tree, f"{name} must repeat the arguments of the window in GROUP BY")
        if what not in self._properties:
            self._properties.append(what)
        time = self._source.schema[window.time.index]
        return Ref(property_type(what, time), _PROPERTIES + self._properties.index(what))

    # -- the node -----------------------------------------------------------------------------------------------------

    def plan(self) -> Rel:
        """The aggregation of everything that was bound."""
        source, keys, calls, time = self._prepared()
        relations = self._rows.scope.relations
        if len(relations) == 1:
            source = input_hinted(source, self._hints, relations[0].name)
        columns = self._key_fields() + self._call_fields(len(keys))
        window = self._keys.window
        if window is None:
            found = Aggregate(source, keys, calls, columns, self._keys.sets)
            # The rows of a window are grouped by both of its bounds.
            return window_aggregate(found) if len(keys) > 1 else found
        assert time is not None
        columns += property_fields(window, self._properties, self._source.schema)
        return WindowAggregate(
            source, window.spec, time, keys, calls, tuple(self._properties), columns, sets=self._keys.sets
        )

    def settle(self, expression: Rex) -> Rex:
        """An expression with the final places of aggregates and properties; those of OVER are not touched."""
        aggregates = len(self._keys.expressions)
        properties = aggregates + len(self._calls)

        def part(each: Rex) -> Rex | None:
            if not isinstance(each, Ref) or each.index < _AGGREGATES:
                return None
            if each.index < _PROPERTIES:
                return replace(each, index=each.index - _AGGREGATES + aggregates)
            if each.index < _PROPERTIES + _AGGREGATES:
                return replace(each, index=each.index - _PROPERTIES + properties)
            return None

        return rewrite(expression, part)

    def _prepared(self) -> tuple[Rel, tuple[int, ...], tuple[AggCall, ...], int | None]:
        """The input with only what the aggregation reads, each once."""
        window = self._keys.window
        wanted = [*self._keys.expressions, *([window.time] if window is not None else [])]
        wanted += [part for call in self._calls for part in call.inputs() if not isinstance(part, Literal)]
        unique = list(dict.fromkeys(wanted))
        place = {each: index for index, each in enumerate(unique)}

        def column(expression: Rex) -> Rex:
            return expression if isinstance(expression, Literal) else Ref(expression.type, place[expression])

        source = self._source
        if unique and unique != [Ref(column.type, index) for index, column in enumerate(source.schema)]:
            source = unnested(Project(source, tuple(unique), _names(unique, source.schema)))
        keys = tuple(place[each] for each in self._keys.expressions)
        calls = tuple(call.map(column) for call in self._calls)
        return source, keys, calls, None if window is None else place[window.time]

    def _key_fields(self) -> Schema:
        fields = _names(list(self._keys.expressions), self._source.schema)
        return tuple(Field(field.name, self._ref(position).type) for position, field in enumerate(fields))

    def _call_fields(self, start: int) -> Schema:
        return tuple(Field(f"EXPR${start + index}", call.type) for index, call in enumerate(self._calls))


def _names(expressions: list[Rex], columns: Schema) -> Schema:
    return tuple(
        field_of(columns[each.index].name if isinstance(each, Ref) else f"$f{index}", each, columns)
        for index, each in enumerate(expressions)
    )


def has_aggregate(tree: nodes.Node | None, block: Block) -> bool:
    """Whether there are aggregates in this part of a query, subqueries and OVER calls themselves aside."""
    return tree is not None and _search(tree, block, windows=False)


def _has_aggregate(tree: nodes.Node, block: Block) -> bool:
    return _search(tree, block, windows=True)


def _search(tree: nodes.Node, block: Block, windows: bool) -> bool:
    """``windows``: whether an OVER call counts, too."""
    waiting: list[nodes.Node] = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, nodes.Query):
            continue
        if isinstance(part, nodes.Window):
            if windows:
                return True
            inside = [*_arguments(part.this), *(part.partition_by or []), part.order]
            waiting += [each for each in inside if each is not None]
            continue
        name = call_name(part)
        if name in GROUPINGS or window_property(name) is not None or is_aggregate_call(part, block):
            return True
        waiting += part.children()
    return False


def _arguments(tree: nodes.Node) -> list[nodes.Node]:
    """What the call in front of OVER contains."""
    return list(core(tree).children())
