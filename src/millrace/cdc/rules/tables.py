"""All rules for one table at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from millrace.cdc.rules.layout import Layout
from millrace.cdc.rules.names import Surroundings
from millrace.cdc.rules.transforms import Bound, Rule
from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.relational.casting import common_type, widest_first


@dataclass(frozen=True)
class Applied:
    """What becomes of a table's rows: none of its rules changes anything if there is none."""

    layout: Layout
    rules: tuple[Bound, ...]


def applied(rules: Sequence[Rule], table: TableId, schema: TableSchema, around: Surroundings) -> Applied:
    """The rules for a table, bound to a schema of it.

    :raises PipelineError: names or types are wrong, or two rules make different tables.
    """
    mine = [rule for rule in rules if rule.tables.match(table) is not None]
    bound = [rule.bound(table, schema, around) for rule in mine]
    if not bound:
        return Applied(Layout(schema), ())
    if len(bound) == 1 and bound[0].is_identity:
        return Applied(bound[0].layout, ())
    layout = bound[0].layout
    for rule, other in zip(mine[1:], bound[1:]):
        layout = _one(rule, layout, other.layout)
    return Applied(layout, tuple(bound))


def _one(rule: Rule, first: Layout, other: Layout) -> Layout:
    a, b = first.schema, other.schema
    if a.names != b.names or a.primary_key != b.primary_key:
        rule.written.block.fail(
            f"the rules for {rule.written.source_table} make different tables: ({', '.join(a.names)}) with the key "
            f"({', '.join(a.primary_key)}), and ({', '.join(b.names)}) with ({', '.join(b.primary_key)})"
        )
    columns = []
    for one, two in zip(a.columns, b.columns):
        both = common_type(widest_first([one.type, two.type]))
        if both is None:
            rule.written.block.fail(f"the rules make column {one.name} {one.type} and {two.type}")
        columns.append(replace(one, type=both))
    return Layout(
        replace(a, columns=tuple(columns)),
        first.partition_keys or other.partition_keys,
        {**other.options, **first.options},
    )
