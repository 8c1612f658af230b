"""TO_CHANGELOG and FROM_CHANGELOG."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.runtime.tables.changelog import ChangelogNormalize
from millrace.runtime.tables.changelog_codes import CodesToKinds, KindsToCodes
from millrace.table.planner.plan import Plan, Planned, by, rule


@rule(n.ToChangelog)
def to_changelog(plan: Plan, node: n.ToChangelog, before: bool) -> Planned:
    below = plan.add(node.input, "UPDATE_BEFORE" in dict(node.codes))
    config = KindsToCodes(codes=node.codes, **plan.options.common)
    together = by(node.partition) if node.partition else None
    return plan.step("ToChangelog", config, [(below, together)], node.schema, plan.changes(node))


@rule(n.FromChangelog)
def from_changelog(plan: Plan, node: n.FromChangelog, before: bool) -> Planned:
    below = plan.add_insertions(node.input, "FROM_CHANGELOG")
    changes = plan.changes(node)
    config = CodesToKinds(op=node.op, codes=node.codes, skip=node.skip, **plan.options.common)
    read = plan.step("FromChangelog", config, [(below, None)], node.schema, changes)
    if not node.by_key:
        return read
    types = tuple(column.type for column in node.schema)
    normalize = ChangelogNormalize(keys=node.partition, types=types, before=before, **plan.options.common)
    return plan.step("ChangelogNormalize", normalize, [(read, by(node.partition))], node.schema, changes)
