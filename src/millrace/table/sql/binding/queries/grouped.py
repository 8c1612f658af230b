"""A query with groups: what its SELECT list, HAVING and ORDER BY say about keys and aggregates."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational.nodes import Aggregate, Field, Project, Rel, Schema, WindowAggregate
from millrace.relational.rex import AggCall, Literal, Ref, Rex, rewrite
from millrace.relational.rules.subqueries import unnest
from millrace.relational.rules.window_aggregate import window_aggregate
from millrace.relational.types import BigIntType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.calls import call_arguments
from millrace.table.sql.binding.dispatch import bind, bind_all
from millrace.table.sql.binding.function_names import GROUPINGS, call_name, core, window_property
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.queries.aggregates import bind_aggregate, is_aggregate_call
from millrace.table.sql.binding.queries.grouping import Keys
from millrace.table.sql.binding.queries.over import Overs
from millrace.table.sql.binding.relations.group_windows import bind_group_window, property_fields, property_type
from millrace.table.sql.binding.relations.hints import QueryHints, input_hinted
from millrace.table.sql.binding.scopes import field_of

_AGGREGATES, _PROPERTIES = 1_000_000, 2_000_000
"""Where references to aggregates and window properties begin until it is known how many there are."""


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
        """A column of FROM (of ``*``) as it is after grouping."""
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
            return window_aggregate(Aggregate(source, keys, calls, columns, self._keys.sets))
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
            source = unnest(Project(source, tuple(unique), _names(unique, source.schema)))
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
