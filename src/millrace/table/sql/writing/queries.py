"""Queries and their clauses as text."""

from __future__ import annotations

from millrace.table.sql import nodes
from millrace.table.sql.writing.dispatch import after, listed, spaced, written


def _whole(node: nodes.Query, body: str) -> str:
    """A query with what stands before and behind its body."""
    return spaced(
        after("", node.with_), body, after("", node.order), after("", node.limit), after("", node.offset)
    )


@written.register
def _select(node: nodes.Select) -> str:
    body = spaced(
        "SELECT",
        after("", node.hint),
        after("", node.distinct),
        listed(node.expressions),
        after("FROM ", node.from_ and node.from_.this),
        *map(written, node.joins),
        after("", node.where),
        after("", node.group),
        after("", node.having),
        f"WINDOW {listed(node.windows)}" if node.windows else "",
        after("", node.qualify),
    )
    return _whole(node, body)


@written.register
def _set_operation(node: nodes.SetOperation) -> str:
    word = type(node).__name__.upper() + " ALL" * (not node.distinct)
    return _whole(node, f"{written(node.this)} {word} {written(node.expression)}")


@written.register
def _values(node: nodes.Values) -> str:
    return _whole(node, f"VALUES {listed(node.expressions)}")


@written.register
def _subquery(node: nodes.Subquery) -> str:
    return _whole(node, f"({written(node.this)}){after(' AS ', node.alias)}")


@written.register
def _with(node: nodes.With) -> str:
    return f"WITH {'RECURSIVE ' * node.recursive}{listed(node.expressions)}"


@written.register
def _cte(node: nodes.CTE) -> str:
    return f"{written(node.alias)} AS ({written(node.this)})"


@written.register
def _alias(node: nodes.Alias) -> str:
    return f"{written(node.this)} AS {written(node.alias)}"


@written.register
def _table_alias(node: nodes.TableAlias) -> str:
    return written(node.this) + (f" ({listed(node.columns)})" if node.columns else "")


@written.register
def _ordered(node: nodes.Ordered) -> str:
    nulls = "" if node.nulls_first is None else f" NULLS {'FIRST' if node.nulls_first else 'LAST'}"
    return f"{written(node.this)}{' DESC' * node.desc}{nulls}"


@written.register
def _order(node: nodes.Order) -> str:
    return f"ORDER BY {listed(node.expressions)}"


@written.register
def _limit(node: nodes.Limit) -> str:
    return f"LIMIT {written(node.expression)}"


@written.register
def _offset(node: nodes.Offset) -> str:
    return f"OFFSET {written(node.expression)}"


@written.register
def _where(node: nodes.Where) -> str:
    return f"WHERE {written(node.this)}"


@written.register
def _having(node: nodes.Having) -> str:
    return f"HAVING {written(node.this)}"


@written.register
def _qualify(node: nodes.Qualify) -> str:
    return f"QUALIFY {written(node.this)}"


@written.register
def _group(node: nodes.Group) -> str:
    return f"GROUP BY {'DISTINCT ' if node.distinct else ''}{listed(node.expressions)}"


@written.register
def _grouping_sets(node: nodes.GroupingSets) -> str:
    return f"GROUPING SETS ({listed(node.expressions)})"


@written.register
def _rollup(node: nodes.Rollup) -> str:
    return f"ROLLUP ({listed(node.expressions)})"


@written.register
def _cube(node: nodes.Cube) -> str:
    return f"CUBE ({listed(node.expressions)})"
