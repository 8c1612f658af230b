"""Aggregates over the rows around each row: the select of ``over_window``."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from millrace.relational import types as t
from millrace.relational.casting import cast_to, common_type
from millrace.relational.nodes import Field, Over, Rel
from millrace.relational.rex import AggCall, Frame, Ref, SortKey
from millrace.table.queries import unbound as u
from millrace.table.queries.binding import Binder
from millrace.table.queries.expression_text import text
from millrace.table.queries.problems import problem
from millrace.table.queries.projection import expand, named, project
from millrace.table.window import OverWindow

_RANKINGS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
_UNBOUNDED = ("UNBOUNDED_ROW", "UNBOUNDED_RANGE")


def over_select(plan: Rel, windows: Sequence[OverWindow], fields: Sequence[u.Node], binder: Binder) -> Rel:
    """The columns of a select with ``over`` calls."""
    items = expand(fields, binder)
    calls: dict[str, list[u.OverCall]] = {window.name: [] for window in windows}
    for item in items:
        for part in u.walk(item.node):
            if isinstance(part, u.OverCall):
                calls[_window_name(part, calls)].append(part)
    places: dict[str, u.Bound] = {}
    for window in windows:
        own = {repr(call): call for call in calls[window.name]}
        if own:
            for offset, (key, call) in enumerate(own.items()):
                places[key] = u.Bound(len(plan.schema) + offset, text(call))
            plan = _over(plan, window, list(own.values()), binder)
    result = _Over(plan.schema, binder)
    replaced = [u.rewrite(item.node, lambda part: places.get(repr(part))) for item in items]
    return project(plan, [result.bind(node) for node in replaced], named(items))


class _Over(Binder):
    """Names are those of the input; columns of over windows are reached by position."""

    def __init__(self, schema: tuple[Field, ...], binder: Binder) -> None:
        super().__init__(schema, binder.environment)
        self._input = binder

    def index(self, name: str) -> int:
        return self._input.index(name)


def _window_name(call: u.OverCall, known: dict[str, list[u.OverCall]]) -> str:
    alias = call.window
    name = alias.name if isinstance(alias, u.Column) else alias.value if isinstance(alias, u.Literal) else None
    if name not in known:
        raise problem(f"{text(call)}: no over window has the alias {text(alias)}; there are {', '.join(known)}")
    return str(name)


def _over(plan: Rel, window: OverWindow, calls: Sequence[u.OverCall], binder: Binder) -> Rel:
    """One node for all calls over one window."""
    partition = [_column(node, binder, "partition_by") for node in window.partition]
    order = _order(window, binder)
    frame = _frame(window)
    bound = [_call(call.child, binder) for call in calls]
    produced = tuple(Field(f"over{index}", call.type) for index, call in enumerate(bound))
    return Over(plan, tuple(partition), order, tuple((call, frame) for call in bound), produced)


def _column(node: u.Node, binder: Binder, where: str) -> int:
    found = binder.bind(node)
    if not isinstance(found, Ref):
        raise problem(f"{where} takes columns, not {text(node)}: compute it with add_columns first")
    return found.index


def _order(window: OverWindow, binder: Binder) -> tuple[SortKey, ...]:
    node, descending = window.order, False
    if isinstance(node, u.Ordered):
        descending, node = node.descending, node.child
    return (SortKey(binder.ref(_column(node, binder, "order_by")), descending, not descending),)


def _frame(window: OverWindow) -> Frame:
    rows, preceding = _bound(window.preceding, "preceding")
    if window.following is None:
        return Frame(rows, preceding, 0)
    also_rows, following = _bound(window.following, "following")
    if rows != also_rows:
        raise problem("preceding and following of an over window are both rows, or both times")
    return Frame(rows, preceding, following)


def _bound(node: u.Node, where: str) -> tuple[bool, int | None]:
    """Whether rows are meant, and how many (or ms); None for unbounded."""
    if isinstance(node, u.Symbol):
        return node.name.endswith("_ROW"), None if node.name in _UNBOUNDED else 0
    if isinstance(node, u.RowCount):
        return True, node.rows
    if isinstance(node, u.Literal) and isinstance(node.value, datetime.timedelta):
        return False, node.value // datetime.timedelta(milliseconds=1)
    raise problem(
        f"{where}({text(node)}) of an over window: give row_interval(n), a span such as lit(5).minutes, or a constant "
        "such as UNBOUNDED_RANGE"
    )


def _call(node: u.Node, binder: Binder) -> AggCall:
    if isinstance(node, u.NamedCall) and node.name.upper() in _RANKINGS:
        return AggCall(node.name.upper(), (), t.BigIntType(False))
    if isinstance(node, u.Aggregation) and node.function in ("LAG", "LEAD"):
        return _moved(node, binder)
    return binder.aggregate(node, may_be_empty=True)


def _moved(node: u.Aggregation, binder: Binder) -> AggCall:
    """LAG and LEAD: of the type of the value, or what it has in common with the default."""
    args = [binder.bind(arg) for arg in node.args]
    if len(args) < 3:
        return AggCall(node.function, tuple(args), args[0].type.nullable())
    wanted = common_type([args[0].type, args[2].type])
    if wanted is None:
        raise problem(f"{text(node)}: the value is {args[0].type}, and its default {args[2].type}")
    return AggCall(node.function, (cast_to(args[0], wanted), args[1], cast_to(args[2], wanted)), wanted)
