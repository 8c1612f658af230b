"""TO_CHANGELOG and FROM_CHANGELOG."""

from __future__ import annotations

from typing import Any

from millrace.relational import nodes as n
from millrace.runtime.tables.changelog import ChangelogNormalize
from millrace.runtime.tables.changelog_codes import CodesToKinds, KindsToCodes
from millrace.table.planner.changes import Changes, append
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.plan import Plan, Planned, by


def _changes_of_from_changelog(node: Any, inputs: list[Changes]) -> Changes:
    kinds = {name for _, name in node.codes}
    updates, deletes = "UPDATE_AFTER" in kinds, "DELETE" in kinds
    keys = frozenset({node.partition}) if node.by_key else frozenset()
    return Changes(updates, deletes, keys, "FROM_CHANGELOG" if updates or deletes else "")


@streaming_form(n.ToChangelog, changes=append)
def to_changelog(plan: Plan, node: n.ToChangelog, before: bool) -> Planned:
    below = plan.add(node.input, "UPDATE_BEFORE" in dict(node.codes))
    config = KindsToCodes(codes=node.codes, **plan.options.common)
    together = by(node.partition) if node.partition else None
    return plan.step("ToChangelog", config, [(below, together)], node.schema, plan.changes(node))


@streaming_form(n.FromChangelog, changes=_changes_of_from_changelog)
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
