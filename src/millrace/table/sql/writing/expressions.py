"""Names, literals and operators as text."""

from __future__ import annotations

from millrace.table.sql import nodes
from millrace.table.sql.writing.dispatch import after, listed, spaced, text, written


@written.register
def _built_in(node: nodes.BuiltIn) -> str:
    if node.this in ("ARRAY", "MAP"):
        return f"{node.this}[{listed(node.expressions)}]"
    first, *rest = map(written, node.expressions)
    if node.this == "ITEM":
        return f"{first}[{rest[0]}]"
    return spaced(first, node.this, " ESCAPE ".join(rest))


@written.register
def _star(node: nodes.Star) -> str:
    return "*"


@written.register
def _var(node: nodes.Var) -> str:
    return node.this


@written.register
def _column(node: nodes.Column) -> str:
    return ".".join(written(part) for part in (node.catalog, node.db, node.table, node.this) if part is not None)


@written.register
def _dot(node: nodes.Dot) -> str:
    return f"{written(node.this)}.{written(node.expression)}"


@written.register
def _literal(node: nodes.Literal) -> str:
    return text(node.this) if node.is_string else node.this


@written.register
def _hex(node: nodes.HexString) -> str:
    return f"x'{node.this}'"


@written.register
def _null(node: nodes.Null) -> str:
    return "NULL"


@written.register
def _boolean(node: nodes.Boolean) -> str:
    return "TRUE" if node.this else "FALSE"


@written.register
def _typed(node: nodes.TypedLiteral) -> str:
    return f"{node.kind} {text(node.this)}"


@written.register
def _interval(node: nodes.IntervalLiteral) -> str:
    # Its type has the precisions that were written; these two units have no type of their own.
    units = node.unit if node.unit in ("WEEK", "QUARTER") else node.data_type.sql().removeprefix("INTERVAL ")
    units = units.replace("SECOND(6)", "SECOND")  # microseconds, which it has without a precision, too
    return f"INTERVAL {'-' * node.negative}{written(node.this)} {units}"


@written.register
def _type(node: nodes.TypeName) -> str:
    return str(node.data_type)


@written.register
def _not(node: nodes.Not) -> str:
    return f"NOT {written(node.this)}"


@written.register
def _neg(node: nodes.Neg) -> str:
    # Two minuses without a blank begin a comment.
    return f"- {written(node.this)}"


@written.register
def _paren(node: nodes.Paren) -> str:
    return f"({written(node.this)})"


@written.register
def _between(node: nodes.Between) -> str:
    symmetric = "SYMMETRIC " * node.symmetric
    return f"{written(node.this)} BETWEEN {symmetric}{written(node.low)} AND {written(node.high)}"


@written.register
def _in(node: nodes.In) -> str:
    return f"{written(node.this)} IN {_compared(node)}"


def _compared(node: nodes.In | nodes.All | nodes.Any) -> str:
    return f"({listed(node.expressions)})" if node.query is None else written(node.query)


@written.register
def _all(node: nodes.All) -> str:
    return f"ALL {_compared(node)}"


@written.register
def _any(node: nodes.Any) -> str:
    return f"ANY {_compared(node)}"


@written.register
def _exists(node: nodes.Exists) -> str:
    return f"EXISTS ({written(node.this)})"


@written.register
def _case(node: nodes.Case) -> str:
    branches = (f"WHEN {written(each.this)} THEN {written(each.true)}" for each in node.ifs)
    return spaced(f"CASE{after(' ', node.this)}", *branches, after("ELSE ", node.default), "END")


@written.register
def _cast(node: nodes.Cast) -> str:
    return f"CAST({written(node.this)} AS {written(node.to)})"


@written.register
def _try_cast(node: nodes.TryCast) -> str:
    return f"TRY_CAST({written(node.this)} AS {written(node.to)})"


@written.register
def _tuple(node: nodes.Tuple) -> str:
    return f"({listed(node.expressions)})"
