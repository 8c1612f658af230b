"""Joins with what an external table has for a key at that moment."""

from __future__ import annotations

from millrace.relational.functions.registry import call
from millrace.relational.nodes import Hinted, LookupJoin, Project, Rel, Scan, Watermark
from millrace.relational.rex import Call, Literal, Ref, Rex, conjunction, conjuncts, refs, rewrite, shift, substitute
from millrace.table.sql import nodes
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.relations.hints import QueryHints, lookup_options
from millrace.table.sql.binding.resolver import TableInfo
from millrace.table.sql.binding.scopes import field_of


def lookup_join(
    tree: nodes.Join, hints: QueryHints, left: Rel, info: TableInfo, right: Rel, kind: str, condition: Rex
) -> Rel:
    """Each row of ``left`` with the rows of the table that have its key.

    :param right: the table with all its columns; those that are computed are computed after the lookup.
    :param condition: over both; its equalities with columns of the table are the key.
    """
    name, table = info.path[-1], tree.this
    assert isinstance(table, nodes.Table)
    found = _computed(right)
    if found is None:
        fail(tree.this, f"'{name}' is no plain table: it cannot be looked up")
    scan, columns = found
    width = len(left.schema)
    lookup: dict[int, Rex] = {}
    rest: list[Rex] = []
    for part in conjuncts(_over_scan(condition, columns, width)):
        key = _key_of(part, width)
        if key is None or key[0] in lookup:
            rest.append(part)
        else:
            lookup[key[0]] = key[1]
    if not lookup:
        fail(tree, f"a lookup of '{name}' needs a condition column = value on one of its columns")
    keys = tuple(sorted(lookup))
    assert info.lookup is not None
    joined = LookupJoin(
        left,
        info.lookup(keys),
        info.path,
        scan.columns,
        kind,
        tuple((each, lookup[each]) for each in keys),
        conjunction(rest) if rest else None,
        lookup_options(hints, table.alias.name if table.alias else name),
    )
    return joined if right is scan else _with_columns(joined, right, columns, width)


def _computed(plan: Rel) -> tuple[Scan, tuple[Rex, ...]] | None:
    """What the columns of a table are over those that its connector reads."""
    if isinstance(plan, Scan):
        return plan, tuple(Ref(column.type, at) for at, column in enumerate(plan.columns))
    if isinstance(plan, (Watermark, Hinted)):
        return _computed(plan.input)
    below = _computed(plan.input) if isinstance(plan, Project) else None
    if below is None or not isinstance(plan, Project):
        return None
    return below[0], tuple(substitute(each, below[1]) for each in plan.expressions)


def _over_scan(condition: Rex, columns: tuple[Rex, ...], width: int) -> Rex:
    def part(each: Rex) -> Rex | None:
        return shift(columns[each.index - width], width) if isinstance(each, Ref) and each.index >= width else None

    return rewrite(condition, part)


def _key_of(part: Rex, width: int) -> tuple[int, Rex] | None:
    """column of the table = value of the left input."""
    if not isinstance(part, Call) or part.function != "=":
        return None
    for here, there in (part.args, part.args[::-1]):
        if isinstance(here, Ref) and here.index >= width and all(index < width for index in refs(there)):
            return here.index - width, there
    return None


def _if_there(computed: Rex, joined: LookupJoin, width: int) -> Rex:
    """What a column is computed to, NULL where no row was found: then its key is NULL, which no row has that is."""
    if isinstance(computed, Ref):
        return computed
    key = joined.lookup[0][0] + width
    there = call("IS NOT NULL", [Ref(joined.schema[key].type, key)])
    return call("CASE", [there, computed, Literal(computed.type.nullable(), None)])


def _with_columns(joined: LookupJoin, right: Rel, columns: tuple[Rex, ...], width: int) -> Rel:
    schema = joined.schema
    kept = [Ref(column.type, at) for at, column in enumerate(schema[:width])]
    found = tuple(shift(each, width) for each in columns)
    if joined.kind == "LEFT":
        found = tuple(_if_there(each, joined, width) for each in found)
    expressions = (*kept, *found)
    names = [column.name for column in (*schema[:width], *right.schema)]
    return Project(joined, expressions, tuple(field_of(name, each, schema) for name, each in zip(names, expressions)))
