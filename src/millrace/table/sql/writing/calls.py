"""Calls of functions, their arguments, and what follows one, as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millrace.table.sql import nodes
from millrace.table.sql.writing.dispatch import after, listed, named, spaced, written

_BARE = {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"}
_KEYWORDS = frozenset({"LEFT", "RIGHT", "ROW", "GROUPING", "ARRAY"})
"""Keywords that are functions as well."""

Form = Callable[[str, Sequence[nodes.Node]], str]
"""A call in its own syntax. Empty if these arguments do not have it."""


def _extract(name: str, arguments: Sequence[nodes.Node]) -> str:
    return f"{name}({written(arguments[0])} FROM {written(arguments[1])})"


def _rounded(name: str, arguments: Sequence[nodes.Node]) -> str:
    return f"{name}({' TO '.join(map(written, arguments))})" if isinstance(arguments[-1], nodes.Var) else ""


def _trim(name: str, arguments: Sequence[nodes.Node]) -> str:
    side, *rest = map(written, arguments)
    return f"{name}({side} {rest[0]} FROM {rest[1]})" if isinstance(arguments[0], nodes.Var) else ""


def _position(name: str, arguments: Sequence[nodes.Node]) -> str:
    return f"{name}({' IN '.join(map(written, arguments))})"


def _overlaps(name: str, arguments: Sequence[nodes.Node]) -> str:
    return f"({listed(arguments[:2])}) OVERLAPS ({listed(arguments[2:])})"


_FORMS: dict[str, Form] = {
    "EXTRACT": _extract,
    "FLOOR": _rounded,
    "CEIL": _rounded,
    "CEILING": _rounded,
    "TRIM": _trim,
    "POSITION": _position,
    "OVERLAPS": _overlaps,
}


@written.register
def _call(node: nodes.Call) -> str:
    if node.this.upper() in _BARE and not node.expressions:
        return node.this
    form = _FORMS.get(node.this.upper())
    special = form(node.this, node.expressions) if form is not None and node.expressions else ""
    return special or f"{named(node.this, _KEYWORDS)}({listed(node.expressions)})"


@written.register
def _distinct(node: nodes.Distinct) -> str:
    return spaced("DISTINCT", listed(node.expressions))


@written.register
def _kwarg(node: nodes.Kwarg) -> str:
    return f"{written(node.this)} => {written(node.expression)}"


@written.register
def _table(node: nodes.TableArgument) -> str:
    partition = f"PARTITION BY ({listed(node.partition_by)})" if node.partition_by else ""
    order = f"ORDER BY ({listed(node.order.expressions)})" if node.order is not None else ""
    return spaced(f"TABLE {written(node.this)}", partition, order)


@written.register
def _model(node: nodes.ModelArgument) -> str:
    return f"MODEL {written(node.this)}"


@written.register
def _descriptor(node: nodes.Descriptor) -> str:
    return f"DESCRIPTOR({listed(node.expressions)})"


@written.register
def _ignore(node: nodes.IgnoreNulls) -> str:
    return f"{written(node.this)} IGNORE NULLS"


@written.register
def _respect(node: nodes.RespectNulls) -> str:
    return f"{written(node.this)} RESPECT NULLS"


@written.register
def _within(node: nodes.WithinGroup) -> str:
    return f"{written(node.this)} WITHIN GROUP ({written(node.expression)})"


@written.register
def _filter(node: nodes.Filter) -> str:
    return f"{written(node.this)} FILTER ({written(node.expression)})"


@written.register
def _final(node: nodes.Final) -> str:
    return f"FINAL {written(node.this)}"


@written.register
def _running(node: nodes.Running) -> str:
    return f"RUNNING {written(node.this)}"


@written.register
def _window(node: nodes.Window) -> str:
    defines = isinstance(node.this, nodes.Identifier)
    partition = f"PARTITION BY {listed(node.partition_by)}" if node.partition_by else ""
    more = spaced(partition, after("", node.order), after("", node.spec))
    alias = after("", node.alias)
    inside = alias if alias and not more and not defines else f"({spaced(alias, more)})"
    return f"{written(node.this)} {'AS' if defines else 'OVER'} {inside}"


@written.register
def _frame(node: nodes.WindowSpec) -> str:
    start, end = _bound(node.start, node.start_side), _bound(node.end, node.end_side)
    return f"{node.kind} BETWEEN {start} AND {end}"


def _bound(value: nodes.Node | str, side: str | None) -> str:
    return spaced(value if isinstance(value, str) else written(value), side or "")
