"""FOR SYSTEM_TIME AS OF: joins with the version of a table at a moment, or with what an external table has then."""

from __future__ import annotations

from millrace.relational.nodes import PROCTIME, ROWTIME, Field, Rel, TemporalJoin
from millrace.relational.rex import TRUE, Call, Ref, Rex, conjuncts, refs
from millrace.relational.rules.keys import row_key
from millrace.table.sql import nodes
from millrace.table.sql.binding.dispatch import bind, bind_condition
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.relations.from_clause import From, Source, aliased
from millrace.table.sql.binding.relations.hints import lookup_options, table_options
from millrace.table.sql.binding.relations.lookup import lookup_join
from millrace.table.sql.binding.relations.tables import find_table, table_plan
from millrace.table.sql.binding.resolver import TableInfo
from millrace.table.sql.binding.scopes import beside, scope_of


def is_temporal(tree: nodes.Node) -> bool:
    return isinstance(tree, nodes.Table) and tree.version is not None


def bind_temporal(tree: nodes.Join, at: From) -> Source:
    """``left JOIN t FOR SYSTEM_TIME AS OF left.time ON ...``."""
    assert at.left is not None
    kind = str(tree.side or "INNER").upper()
    if kind not in ("INNER", "LEFT"):
        fail(tree, f"FOR SYSTEM_TIME AS OF can be in an INNER or LEFT JOIN, not in a {kind} JOIN")
    table = tree.this
    assert isinstance(table, nodes.Table)
    time = _left_time(table, at)
    if len(nodes.table_path(table)) == 1 and table.name in at.environment.ctes:
        plan: Rel = at.environment.ctes[table.name]
        info = TableInfo(("", "", table.name), plan)
    else:
        info = find_table(table, at.environment, table_options(table))
        plan = table_plan(info, at.environment)
    right = aliased(table, Source(plan, scope_of(info.path[-1], plan.schema, info.path)))
    scope = beside(at.left.scope, right.scope)
    on = tree.on
    condition = TRUE if on is None else bind_condition(on, at.block(scope, "ON"))
    joined: Rel
    if time.time == PROCTIME and info.lookup is not None:
        joined = lookup_join(tree, at.hints, at.left.plan, info, plan, kind, condition)
    else:
        _refuse_hint(tree, at, info, plan, time)
        joined = _version(tree, at.left.plan, info, plan, kind, condition, time)
    return Source(joined, scope.over(joined.schema))


def _refuse_hint(tree: nodes.Join, at: From, info: TableInfo, plan: Rel, time: Field) -> None:
    """A LOOKUP hint about a table whose rows are not looked up would have no effect."""
    table = tree.this
    assert isinstance(table, nodes.Table)
    name = info.path[-1]
    if not lookup_options(at.hints, table.alias.name if table.alias else name):
        return
    if time.time != PROCTIME:
        fail(table, f"hint LOOKUP: '{name}' is joined by event time, so its versions are kept and none is looked up")
    connector = connector_of(plan)
    how = "it is no table of a connector" if connector is None else f"connector '{connector}' finds no rows by key"
    fail(table, f"hint LOOKUP: '{name}' cannot be looked up: {how}. Without the hint it is joined by its newest rows")


def connector_of(plan: Rel) -> str | None:
    """The connector of the table that a plan reads, None if it is another one."""
    while len(plan.inputs) == 1:
        plan = plan.inputs[0]
    table = getattr(getattr(plan, "source", None), "table", None)
    return None if table is None else table.options.get("connector")


def _left_time(table: nodes.Table, at: From) -> Field:
    assert at.left is not None
    assert table.version is not None
    moment = table.version.expression
    found = bind(moment, at.block(at.left.scope, "FOR SYSTEM_TIME AS OF"))
    if isinstance(found, Call) and found.function == "PROCTIME":
        fail(moment, "FOR SYSTEM_TIME AS OF needs a column: add PROCTIME() AS a column to the left table and name that")
    column = at.left.plan.schema[found.index] if isinstance(found, Ref) else None
    if column is None or column.time is None:
        fail(
            moment,
            "FOR SYSTEM_TIME AS OF needs a time attribute of the left table: a column with a WATERMARK, or one "
            "that is PROCTIME()",
        )
    return column


def _version(
    tree: nodes.Join, left: Rel, info: TableInfo, right: Rel, kind: str, condition: Rex, time: Field
) -> TemporalJoin:
    left_time = left.schema.index(time)
    names = right.names
    key = tuple(names.index(each) for each in info.primary_key) if info.primary_key else row_key(right)
    if not key:
        fail(
            tree.this,
            f"'{info.path[-1]}' has no versions: it needs a PRIMARY KEY (NOT ENFORCED), or to be a view that "
            f"keeps the last row of each key{_no_lookup(right, time)}",
        )
    right_time = next((at for at, column in enumerate(right.schema) if column.time == ROWTIME), None)
    if time.time == ROWTIME and right_time is None:
        fail(tree.this, f"'{info.path[-1]}' has no versions in event time: it needs a WATERMARK")
    width = len(left.schema)
    compared = {index for part in conjuncts(condition) for index in _equated(part, width)}
    missing = [names[each] for each in key if each not in compared]
    if missing:
        fail(
            tree,
            f"the condition must compare the whole key of '{info.path[-1]}' with =; {', '.join(missing)} is missing",
        )
    return TemporalJoin(left, right, kind, condition, left_time, right_time if time.time == ROWTIME else None, key)


def _no_lookup(right: Rel, time: Field) -> str:
    connector = connector_of(right)
    if time.time != PROCTIME or connector is None:
        return ""
    return f"; and rows of connector '{connector}' are not found by key, so it cannot be looked up either"


def _equated(part: Rex, width: int) -> set[int]:
    """The columns of the right input that a condition sets equal to something of the left one."""
    if not isinstance(part, Call) or part.function != "=":
        return set()
    for here, there in (part.args, part.args[::-1]):
        right = here.args[0] if isinstance(here, Call) and here.function == "CAST" else here
        if isinstance(right, Ref) and right.index >= width and all(index < width for index in refs(there)):
            return {right.index - width}
    return set()
