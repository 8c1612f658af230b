"""Plans and expressions as text: one line a node, inputs below it. What EXPLAIN shows and tests compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.rex import (
    AggCall,
    Call,
    FieldAccess,
    Frame,
    Literal,
    OuterRef,
    Ref,
    Rex,
    SortKey,
    Subquery,
    UdfCall,
)
from millrace.relational.traversal import subqueries_of
from millrace.relational.types import NullType
from millrace.util.secrets import mask_options

_INFIX = {"+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "||", "LIKE", "SIMILAR TO"}


def plan_text(plan: n.Rel, indent: int = 0) -> str:
    """The plan as an indented tree."""
    pad = "  " * indent
    lines = [pad + node_text(plan)]
    for subquery in subqueries_of(plan):
        lines.append(f"{pad}  [{subquery.kind}]")
        lines.append(plan_text(subquery.plan, indent + 2))
    lines += [plan_text(each, indent + 1) for each in plan.inputs]
    return "\n".join(lines)


def node_text(node: n.Rel) -> str:
    """One node without its inputs."""
    describe = _NODES.get(type(node))
    details = [] if describe is None else describe(node)
    return f"{type(node).__name__}({', '.join(details)})"


def rex_text(expression: Rex, columns: n.Schema) -> str:
    """An expression with the names of the columns that it reads; ``name$index`` where a name is not unique."""
    names = _labels(columns)

    def text(part: Rex) -> str:
        if isinstance(part, Ref):
            return names[part.index] if part.index < len(names) else f"${part.index}"
        if isinstance(part, OuterRef):
            return f"outer{part.depth if part.depth > 1 else ''}.${part.index}"
        if isinstance(part, Literal):
            return literal_text(part)
        if isinstance(part, FieldAccess):
            return f"{text(part.row)}.{part.name}"
        if isinstance(part, Subquery):
            operands = ", ".join(map(text, part.operands))
            return f"{'NOT ' if part.negated else ''}{part.kind}({operands})"
        if isinstance(part, UdfCall):
            return f"{part.name}({', '.join(map(text, part.args))})"
        if isinstance(part, Call):
            return _call_text(part, text)
        return type(part).__name__

    return text(expression)


def literal_text(literal: Literal) -> str:
    """A constant as SQL writes it, as far as Python's forms allow."""
    value = literal.value
    if value is None:
        return "NULL" if isinstance(literal.type, NullType) else f"NULL:{literal.type.sql()}"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (int, float)):
        return str(value)
    return f"{value}:{literal.type.sql()}"


def _call_text(call: Call, text: Callable[[Rex], str]) -> str:
    args = [text(arg) for arg in call.args]
    options = "".join(f", {name}={value}" for name, value in call.options)
    if call.function in ("CAST", "TRY_CAST"):
        return f"{call.function}({args[0]} AS {call.type})"
    many = call.function in ("AND", "OR")
    if call.function in _INFIX and (len(args) == 2 or (many and len(args) > 2)) and not options:
        return "(" + f" {call.function} ".join(args) + ")"
    return f"{call.function}({', '.join(args)}{options})"


def agg_text(call: AggCall, columns: n.Schema) -> str:
    """An aggregate with all its clauses."""
    args = ", ".join(rex_text(arg, columns) for arg in call.args) or ("*" if call.function == "COUNT" else "")
    text = f"{call.function}({'DISTINCT ' if call.distinct else ''}{args})"
    if call.order:
        text += f" WITHIN GROUP ({keys_text(call.order, columns)})"
    if call.filter is not None:
        text += f" FILTER ({rex_text(call.filter, columns)})"
    return text


def keys_text(keys: Sequence[SortKey], columns: n.Schema) -> str:
    """Items of an ORDER BY; NULLS FIRST or LAST only where it is not what the direction implies."""
    parts = []
    for key in keys:
        text = rex_text(key.expression, columns) + (" DESC" if key.descending else "")
        if key.nulls_first == key.descending:
            text += " NULLS FIRST" if key.nulls_first else " NULLS LAST"
        parts.append(text)
    return ", ".join(parts)


def _frame_text(frame: Frame) -> str:
    def bound(value: int | None, side: str) -> str:
        return "CURRENT ROW" if value == 0 else f"{'UNBOUNDED' if value is None else value} {side}"

    ends = f"{bound(frame.preceding, 'PRECEDING')} AND {bound(frame.following, 'FOLLOWING')}"
    return f"{'ROWS' if frame.rows else 'RANGE'} BETWEEN {ends}"


def _labels(columns: n.Schema) -> list[str]:
    times = Counter(column.name for column in columns)
    return [
        column.name if times[column.name] == 1 else f"{column.name}${index}" for index, column in enumerate(columns)
    ]


def _named(columns: Sequence[int], schema: n.Schema) -> str:
    names = _labels(schema)
    return "[" + ", ".join(names[index] for index in columns) + "]"


def _project(node: n.Project) -> list[str]:
    source = node.input.schema
    parts = []
    for expression, column in zip(node.expressions, node.columns):
        text = rex_text(expression, source)
        parts.append(text if text == column.name else f"{text} AS {column.name}")
    return parts


def _expand(node: n.Expand) -> list[str]:
    source = node.input.schema
    return ["(" + ", ".join(rex_text(part, source) for part in each) + ")" for each in node.projections]


def _aggregate(node: n.Aggregate) -> list[str]:
    source = node.input.schema
    parts = [f"keys={_named(node.keys, source)}"] if node.keys else []
    if node.sets is not None:
        parts.append("sets=[" + ", ".join(_named([node.keys[at] for at in each], source) for each in node.sets) + "]")
    return parts + [agg_text(call, source) for call in node.aggregates]


def _window(window: n.WindowSpec) -> str:
    unit = "" if window.kind == "ROWS" else " ms"
    parts = [f"{window.size}{unit}"]
    if window.slide is not None:
        parts.append(f"slide {window.slide}{unit}")
    if window.offset:
        parts.append(f"offset {window.offset} ms")
    return f"{window.kind}({', '.join(parts)})"


def _window_table(node: n.WindowTable) -> list[str]:
    source = node.input.schema
    parts = [_window(node.window), f"time={source[node.time].name}"]
    return parts + ([f"partition={_named(node.partition, source)}"] if node.partition else [])


def _window_aggregate(node: n.WindowAggregate) -> list[str]:
    source = node.input.schema
    parts = [_window(node.window), f"time={source[node.time].name}"]
    if node.keys:
        parts.append(f"keys={_named(node.keys, source)}")
    if node.sets is not None:
        parts.append("sets=[" + ", ".join(_named([node.keys[at] for at in each], source) for each in node.sets) + "]")
    if node.attached is not None:
        parts.append(f"attached={_named(node.attached, source)}")
    parts += [agg_text(call, source) for call in node.aggregates]
    return parts + ([f"properties=[{', '.join(node.properties)}]"] if node.properties else [])


def _over(node: n.Over) -> list[str]:
    source = node.input.schema
    parts = [f"partition={_named(node.partition, source)}"] if node.partition else []
    if node.order:
        parts.append(f"order=[{keys_text(node.order, source)}]")
    for (call, frame), column in zip(node.calls, node.produced):
        parts.append(f"{agg_text(call, source)} {_frame_text(frame)} AS {column.name}")
    return parts


def _rank(node: n.Rank) -> list[str]:
    source = node.input.schema
    parts = [node.function, f"from={node.first}", f"to={node.last}"]
    if node.partition:
        parts.append(f"partition={_named(node.partition, source)}")
    parts.append(f"order=[{keys_text(node.order, source)}]")
    if node.window is not None:
        parts.append(f"window={_named(node.window, source)}")
    return parts + ([f"number={node.number.name}"] if node.number is not None else [])


def _deduplicate(node: n.Deduplicate) -> list[str]:
    source = node.input.schema
    parts = ["last" if node.last else "first", f"keys={_named(node.keys, source)}", f"time={source[node.time].name}"]
    if node.window is not None:
        parts.append(f"window={_named(node.window, source)}")
    return parts + ([f"number={node.number.name}"] if node.number is not None else [])


def _join(node: n.Join) -> list[str]:
    both = node.left.schema + node.right.schema
    return [node.kind, rex_text(node.condition, both), *(["null aware"] if node.null_aware else [])]


def _interval_join(node: n.IntervalJoin) -> list[str]:
    left, right = node.left.schema[node.left_time].name, node.right.schema[node.right_time].name
    condition = rex_text(node.condition, node.left.schema + node.right.schema)
    return [node.kind, condition, f"{right} - {left} in [{node.lower}, {node.upper}] ms"]


def _window_join(node: n.WindowJoin) -> list[str]:
    condition = rex_text(node.condition, node.left.schema + node.right.schema)
    windows = f"{_named(node.left_window, node.left.schema)} = {_named(node.right_window, node.right.schema)}"
    return [node.kind, condition, windows]


def _temporal_join(node: n.TemporalJoin) -> list[str]:
    version = "newest" if node.right_time is None else node.right.schema[node.right_time].name
    condition = rex_text(node.condition, node.left.schema + node.right.schema)
    of = node.left.schema[node.left_time].name
    return [
        node.kind,
        condition,
        f"as of {of}",
        f"version={version}",
        f"key={_named(node.right_key, node.right.schema)}",
    ]


def _lookup_join(node: n.LookupJoin) -> list[str]:
    source = node.input.schema
    keys = ", ".join(f"{node.table[at].name} = {rex_text(key, source)}" for at, key in node.lookup)
    parts = [node.kind, ".".join(node.path), keys]
    if node.condition is not None:
        parts.append(rex_text(node.condition, source + node.table))
    return parts + ([f"options={mask_options(dict(node.options))}"] if node.options else [])


def _correlate(node: n.Correlate) -> list[str]:
    args = ", ".join(rex_text(arg, node.input.schema) for arg in node.args)
    parts = ["LEFT" if node.left else "INNER", f"{node.function}({args})"]
    parts.append("produces=[" + ", ".join(column.name for column in node.produced) + "]")
    parts += [f"{name}={value}" for name, value in node.options]
    if node.condition is not None:
        parts.append(rex_text(node.condition, node.input.schema + node.produced))
    return parts


def _sort(node: n.Sort) -> list[str]:
    parts = [keys_text(node.keys, node.input.schema)] if node.keys else []
    parts += [f"offset={node.offset}"] if node.offset else []
    return parts + ([f"fetch={node.fetch}"] if node.fetch is not None else [])


def _scan(node: n.Scan) -> list[str]:
    parts = [".".join(node.path), "[" + ", ".join(column.name for column in node.columns) + "]"]
    return parts + [rex_text(condition, node.columns) for condition in node.filters]


def _values(node: n.Values) -> list[str]:
    return [
        "(" + ", ".join(literal_text(Literal(c.type, value)) for value, c in zip(row, node.columns)) + ")"
        for row in node.rows
    ]


def _watermark(node: n.Watermark) -> list[str]:
    return [f"{node.input.schema[node.column].name} AS {rex_text(node.expression, node.input.schema)}"]


def _sink(node: n.Sink) -> list[str]:
    parts = [".".join(node.path), *(["overwrite"] if node.overwrite else [])]
    return parts + ([f"partition={dict(node.partition)}"] if node.partition else [])


_NODES: dict[type[n.Rel], Callable[[Any], list[str]]] = {
    n.Scan: _scan,
    n.StreamScan: lambda node: ["[" + ", ".join(column.name for column in node.columns) + "]"],
    n.Values: _values,
    n.Project: _project,
    n.Filter: lambda node: [rex_text(node.condition, node.schema)],
    n.Watermark: _watermark,
    n.Correlate: _correlate,
    n.Expand: _expand,
    n.SetOp: lambda node: [f"{node.kind}{' ALL' if node.all else ''}"],
    n.Sort: _sort,
    n.Aggregate: _aggregate,
    n.WindowTable: _window_table,
    n.WindowAggregate: _window_aggregate,
    n.Over: _over,
    n.Rank: _rank,
    n.Deduplicate: _deduplicate,
    n.ToChangelog: lambda node: [f"{name}={code}" for name, code in node.codes],
    n.FromChangelog: lambda node: [node.input.names[node.op], *(f"{code}={name}" for code, name in node.codes)],
    n.Join: _join,
    n.IntervalJoin: _interval_join,
    n.WindowJoin: _window_join,
    n.TemporalJoin: _temporal_join,
    n.LookupJoin: _lookup_join,
    n.Sink: _sink,
    n.Hinted: lambda node: [f"{name}({', '.join(map(str, args))})" for name, args in node.hints],
}
