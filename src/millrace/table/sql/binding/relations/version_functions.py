"""LATERAL TABLE(rates(o.ts)): a view of versions that is called with a time, as Flink's temporal table functions are.

It means ``JOIN rates FOR SYSTEM_TIME AS OF o.ts``. Such programs write the comparison of keys into WHERE as often as
into ON, so the join takes it from there, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

from millrace.relational.rules.keys import row_key
from millrace.table.sql import nodes
from millrace.table.sql.binding.calls import call_arguments
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.relations.from_clause import From, Source
from millrace.table.sql.binding.relations.temporal import bind_temporal


def key_of_versions(tree: nodes.Node, at: From) -> Sequence[str]:
    """The key of the view that a call in FROM names; nothing, if it calls a function or names no view of versions."""
    if not isinstance(tree, nodes.TableFunction):
        return ()
    path, resolver = nodes.call_path(tree.this), at.environment.resolver
    found = None if resolver.function(path) is not None else resolver.table(path, {})
    return () if found is None else [found.plan.names[place] for place in row_key(found.plan)]


def bind_versions(tree: nodes.Join, key: Sequence[str], at: From) -> Source:
    """``left, LATERAL TABLE(versions(left.time))``, the versions having this key."""
    call = tree.this
    assert isinstance(call, nodes.TableFunction)
    path, args = nodes.call_path(call.this), call_arguments(call.this)
    if len(args) != 1:
        fail(call, f"{'.'.join(path)} gives versions of rows: it takes one time of the table to its left")
    name, *above = (nodes.Identifier(part) for part in reversed(path))
    database, catalog = (*above, None, None)[:2]
    alias = call.alias or nodes.TableAlias(name)
    version = nodes.Version(args[0], position=call.position)
    table = nodes.Table(name, database, catalog, version=version, alias=alias, position=call.position)
    conditions = [] if tree.on is None or _is_true(tree.on) else [tree.on]
    if tree.side is None and at.where is not None:
        conditions += [each for each in _conjuncts(at.where) if _compares(each, alias.name, key)]
    on = reduce(lambda one, other: nodes.BuiltIn("AND", (one, other)), conditions) if conditions else None
    return bind_temporal(replace(tree, this=table, on=on), at)


def _is_true(condition: nodes.Node) -> bool:
    return isinstance(condition, nodes.Boolean) and condition.this


def _conjuncts(condition: nodes.Node) -> Iterator[nodes.Node]:
    if isinstance(condition, nodes.Paren):
        yield from _conjuncts(condition.this)
    elif isinstance(condition, nodes.BuiltIn) and condition.this == "AND":
        for part in condition.expressions:
            yield from _conjuncts(part)
    else:
        yield condition


def _compares(condition: nodes.Node, alias: str, key: Sequence[str]) -> bool:
    """Whether it sets a column of the key equal to something."""
    if not isinstance(condition, nodes.BuiltIn) or condition.this != "=":
        return False
    return any(
        isinstance(each, nodes.Column)
        and each.name in key
        and (each.table is None or (each.table.name == alias and each.db is None))
        for each in condition.expressions
    )
