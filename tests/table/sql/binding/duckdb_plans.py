"""Plans run by DuckDB: every node becomes a SELECT, so that a plan can be compared with the query that it came from
before anything of ours can run it. Only what standard queries need."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.rex import AggCall, Call, Frame, Literal, Ref, Rex, SortKey
from millrace.relational.types import DataType


def sql_of(plan: n.Rel) -> str:
    """A query whose columns are called c0, c1, ..."""
    return _NODES[type(plan)](plan)


def _columns(count: int, prefix: str = "", start: int = 0) -> list[str]:
    return [f"{prefix}c{index} AS c{index + start}" for index in range(count)]


def _select(items: Sequence[str], source: str, rest: str = "") -> str:
    return f"SELECT {', '.join(items) or '1 AS nothing'} FROM ({source}) AS t {rest}"


def _scan(plan: n.Scan) -> str:
    items = [f'"{column.name}" AS c{index}' for index, column in enumerate(plan.columns)]
    return f"SELECT {', '.join(items)} FROM {plan.path[-1]}"


def _values(plan: n.Values) -> str:
    if not plan.rows:
        items = [f"CAST(NULL AS {_type(column.type)}) AS c{at}" for at, column in enumerate(plan.columns)]
        return f"SELECT {', '.join(items)} WHERE FALSE"
    rows = []
    for row in plan.rows:
        items = [f"{_literal(value, c.type)} AS c{at}" for at, (value, c) in enumerate(zip(row, plan.columns))]
        rows.append(f"SELECT {', '.join(items) or '1 AS nothing'}")
    return " UNION ALL ".join(rows)


def _project(plan: n.Project) -> str:
    return _select([f"{_rex(each)} AS c{at}" for at, each in enumerate(plan.expressions)], sql_of(plan.input))


def _expand(plan: n.Expand) -> str:
    source = sql_of(plan.input)
    return " UNION ALL ".join(
        _select([f"{_rex(each)} AS c{at}" for at, each in enumerate(projection)], source)
        for projection in plan.projections
    )


def _filter(plan: n.Filter) -> str:
    return _select(_columns(len(plan.schema)), sql_of(plan.input), f"WHERE {_rex(plan.condition)}")


def _join(plan: n.Join) -> str:
    left, right = len(plan.left.schema), len(plan.right.schema)
    renamed = _select(_columns(right, start=left), sql_of(plan.right))
    on = _rex(plan.condition)
    if plan.kind in ("SEMI", "ANTI"):
        test = f"EXISTS (SELECT 1 FROM ({renamed}) AS r WHERE {on})"
        if plan.kind == "ANTI":
            # NOT IN does not hold either where a comparison is unknown.
            some = f"({on}) IS NOT FALSE" if plan.null_aware else on
            test = f"NOT EXISTS (SELECT 1 FROM ({renamed}) AS r WHERE {some})"
        return _select(_columns(left), sql_of(plan.left), f"WHERE {test}")
    items = [f"c{at}" for at in range(left + right)]
    return f"SELECT {', '.join(items) or 1} FROM ({sql_of(plan.left)}) AS l {plan.kind} JOIN ({renamed}) AS r ON {on}"


def _aggregate(plan: n.Aggregate) -> str:
    items = [f"c{key} AS c{at}" for at, key in enumerate(plan.keys)]
    items += [f"{_agg(call)} AS c{len(plan.keys) + at}" for at, call in enumerate(plan.aggregates)]
    keys = [f"t.c{key}" for key in plan.keys]
    group = f"GROUP BY {', '.join(keys)}" if keys else ""
    if plan.sets is not None:
        sets = ", ".join("(" + ", ".join(keys[at] for at in each) + ")" for each in plan.sets)
        group = f"GROUP BY GROUPING SETS ({sets})"
    return _select(
        [each.replace("c", "t.c", 1) if each.startswith("c") else each for each in items], sql_of(plan.input), group
    )


def _over(plan: n.Over) -> str:
    width = len(plan.input.schema)
    partition = f"PARTITION BY {', '.join(f'c{each}' for each in plan.partition)} " if plan.partition else ""
    order = f"ORDER BY {_keys(plan.order)} " if plan.order else ""
    items = _columns(width)
    for at, (call, frame) in enumerate(plan.calls):
        shown = "" if call.function in ("LAG", "LEAD", "NTILE") or "R" in call.function[:1] else _frame(frame)
        items.append(f"{_agg(call)} OVER ({partition}{order}{shown}) AS c{width + at}")
    return _select(items, sql_of(plan.input))


def _frame(frame: Frame) -> str:
    def bound(value: int | None, word: str) -> str:
        return "CURRENT ROW" if value == 0 else f"{'UNBOUNDED' if value is None else value} {word}"

    ends = f"{bound(frame.preceding, 'PRECEDING')} AND {bound(frame.following, 'FOLLOWING')}"
    return f"{'ROWS' if frame.rows else 'RANGE'} BETWEEN {ends}"


def _rank(plan: n.Rank) -> str:
    width = len(plan.input.schema)
    partition = f"PARTITION BY {', '.join(f'c{each}' for each in plan.partition)} " if plan.partition else ""
    items = [*_columns(width), f"{plan.function}() OVER ({partition}ORDER BY {_keys(plan.order)}) AS c{width}"]
    ranked = _select(items, sql_of(plan.input))
    return _select(_columns(len(plan.schema)), ranked, f"WHERE c{width} BETWEEN {plan.first} AND {plan.last}")


def _sort(plan: n.Sort) -> str:
    rest = f"ORDER BY {_keys(plan.keys)}" if plan.keys else ""
    rest += f" LIMIT {plan.fetch}" if plan.fetch is not None else ""
    return _select(
        _columns(len(plan.schema)), sql_of(plan.input), rest + (f" OFFSET {plan.offset}" if plan.offset else "")
    )


def _set(plan: n.SetOp) -> str:
    word = f" {plan.kind}{' ALL' if plan.all else ''} "
    return word.join(f"({sql_of(each)})" for each in plan.branches)


def _keys(keys: Sequence[SortKey]) -> str:
    return ", ".join(
        f"{_rex(key.expression)} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
        for key in keys
    )


def _agg(call: AggCall) -> str:
    args = ", ".join(map(_rex, call.args)) or ("*" if call.function == "COUNT" else "")
    name = {"SINGLE_VALUE": "ANY_VALUE"}.get(call.function, call.function)
    text = f"{name}({'DISTINCT ' if call.distinct else ''}{args})"
    if call.filter is not None:
        text += f" FILTER (WHERE {_rex(call.filter)})"
    return text


_INFIX = {"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "%", "AND", "OR", "LIKE"}
_INFIX |= {"IS DISTINCT FROM", "IS NOT DISTINCT FROM"}
_POSTFIX = {f"IS {no}{what}" for no in ("", "NOT ") for what in ("NULL", "TRUE", "FALSE")}


def _rex(expression: Rex) -> str:
    if isinstance(expression, Ref):
        return f"c{expression.index}"
    if isinstance(expression, Literal):
        return _literal(expression.value, expression.type)
    assert isinstance(expression, Call), expression
    name, args = expression.function, [_rex(arg) for arg in expression.args]
    if name in _INFIX and len(args) > 1:
        return "(" + f" {name} ".join(args) + ")"
    if name in _POSTFIX:
        return f"({args[0]} {name})"
    if name == "CAST":
        return f"CAST({args[0]} AS {_type(expression.type)})"
    if name == "/":
        whole = isinstance(expression.type, t.IntegralType)
        return f"({args[0]} // {args[1]})" if whole else f"({args[0]} / {args[1]})"
    if name == "CASE":
        branches = " ".join(f"WHEN {args[at]} THEN {args[at + 1]}" for at in range(0, len(args) - 1, 2))
        return f"CASE {branches} ELSE {args[-1]} END"
    if name == "IN":
        return f"({args[0]} IN ({', '.join(args[1:])}))"
    return f"{name}({', '.join(args)})"


def _type(data_type: DataType) -> str:
    return "VARCHAR" if isinstance(data_type, (t.CharType, t.VarCharType)) else data_type.sql()


def _literal(value: Any, data_type: DataType) -> str:
    if value is None:
        return "NULL" if isinstance(data_type, t.NullType) else f"CAST(NULL AS {_type(data_type)})"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (bool, int, float, Decimal)):
        return f"CAST({value} AS {_type(data_type)})"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value}'"
    assert isinstance(value, datetime.date)
    return f"DATE '{value}'"


_NODES: dict[type[n.Rel], Callable[[Any], str]] = {
    n.Scan: _scan,
    n.Values: _values,
    n.Project: _project,
    n.Expand: _expand,
    n.Filter: _filter,
    n.Join: _join,
    n.Aggregate: _aggregate,
    n.Over: _over,
    n.Rank: _rank,
    n.Sort: _sort,
    n.SetOp: _set,
}
