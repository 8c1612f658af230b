"""What stands in FROM, and hints, as text."""

from __future__ import annotations

from millrace.table.sql import nodes
from millrace.table.sql.writing.dispatch import after, listed, named, spaced, written


@written.register
def _table(node: nodes.Table) -> str:
    name = ".".join(written(part) for part in (node.catalog, node.db, node.this) if part is not None)
    moment = "" if node.version is None else f"FOR SYSTEM_TIME AS OF {written(node.version.expression)}"
    return spaced(name, *map(written, node.hints), moment, after("AS ", node.alias))


@written.register
def _lateral(node: nodes.Lateral) -> str:
    return f"LATERAL {written(node.this)}{after(' AS ', node.alias)}"


@written.register
def _function(node: nodes.TableFunction) -> str:
    return f"{'LATERAL ' * node.lateral}TABLE({written(node.this)}){after(' AS ', node.alias)}"


@written.register
def _unnest(node: nodes.Unnest) -> str:
    return f"UNNEST({listed(node.expressions)}){' WITH ORDINALITY' * node.offset}{after(' AS ', node.alias)}"


@written.register
def _join(node: nodes.Join) -> str:
    # OUTER is what a side says already.
    kind = "" if node.side else node.kind
    using = f"USING ({listed(node.using)})" if node.using else ""
    words = spaced(node.method or "", node.side or "", kind, "JOIN")
    return spaced(words, written(node.this), after("ON ", node.on), using)


@written.register
def _sampled(node: nodes.Sampled) -> str:
    seed = "" if node.seed is None else f" REPEATABLE ({node.seed})"
    return f"{written(node.this)} TABLESAMPLE {node.method} ({node.percent}){seed}"


@written.register
def _joined(node: nodes.Joined) -> str:
    return f"({spaced(written(node.this), *map(written, node.joins))})"


@written.register
def _hint(node: nodes.Hint) -> str:
    return f"/*+ {listed(node.expressions)} */"


@written.register
def _hint_call(node: nodes.HintCall) -> str:
    return f"{named(node.this)}({listed(node.expressions)})"


@written.register
def _option(node: nodes.PropertyEQ) -> str:
    return f"{written(node.this)} = {written(node.expression)}"
