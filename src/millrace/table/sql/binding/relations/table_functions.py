"""Functions over a whole table in FROM: ``TABLE(f(TABLE t, ...))``. Each registers here under its names."""

from __future__ import annotations

from collections.abc import Callable

from millrace.relational.nodes import Rel
from millrace.table.sql import nodes
from millrace.table.sql.binding.relations.from_clause import From, Source, aliased, binds_relation
from millrace.table.sql.binding.scopes import scope_of
from millrace.util.modules import entered

TableFunction = Callable[[nodes.Call, From], Rel]
"""(the call, where FROM stands) -> its plan"""

_functions: dict[str, TableFunction] = {}


def table_function(*names: str) -> Callable[[TableFunction], TableFunction]:
    """Register the decorated function for calls of these names, in a module beside this one."""
    return entered(_functions, *names)


def table_function_names() -> list[str]:
    return list(_functions)


@binds_relation(nodes.TableFunction)
def _call(tree: nodes.TableFunction, at: From) -> Source:
    assert isinstance(tree.this, nodes.Call)
    plan = _functions[tree.this.name.upper()](tree.this, at)
    return aliased(tree, Source(plan, scope_of(None, plan.schema)))
