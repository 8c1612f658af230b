"""TABLESAMPLE: each row is drawn for itself."""

from __future__ import annotations

from decimal import Decimal

from millrace.relational import types as t
from millrace.relational.functions.registry import call
from millrace.relational.nodes import Filter
from millrace.relational.rex import Literal
from millrace.table.sql import nodes
from millrace.table.sql.binding.relations.from_clause import From, Source, bind_relation, binds_relation


@binds_relation(nodes.Sampled)
def _sampled(tree: nodes.Sampled, at: From) -> Source:
    """BERNOULLI and SYSTEM alike: rows lie in no blocks that all connectors have."""
    source = bind_relation(tree.this, at)
    share = Decimal(tree.percent) / 100
    if share == 1:
        return source
    seed = [] if tree.seed is None else [Literal(t.IntType(False), tree.seed)]
    drawn = call("<", [call("RAND", seed), Literal(t.DoubleType(False), float(share))])
    return Source(Filter(source.plan, drawn), source.scope)
