"""OVER: aggregates and ranks over the rows around each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from millrace.relational.casting import cast_to
from millrace.relational.nodes import Field, Over, Project, Rel
from millrace.relational.rex import AggCall, Frame, Literal, Ref, Rex, SortKey, rewrite
from millrace.relational.rules.subqueries import unnest
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.constants import constant
from millrace.table.sql.binding.dispatch import bind_all, binds
from millrace.table.sql.binding.problems import by_program, fail
from millrace.table.sql.binding.queries.aggregates import bind_over_function, sort_keys
from millrace.table.sql.binding.queries.frames import frame_of
from millrace.table.sql.binding.scopes import field_of
from millrace.table.sql.text.errors import did_you_mean
from millrace.util.record import Record

_OVERS = 4_000_000
"""Where references to results of OVER begin until it is known what comes before them."""


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
        source = unnest(Project(source, (*kept, *computed), (*source.schema, *names)))
    places = {each: width + at for at, each in enumerate(computed)}
    return source, lambda each: Ref(each.type, places[each]) if each in places else each


def _place(column: Rex) -> int:
    assert isinstance(column, Ref)
    return column.index
