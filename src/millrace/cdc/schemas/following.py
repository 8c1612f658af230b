"""A table of the sink that follows the tables of the source which are routed to it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from millrace.cdc.rules.layout import CreateSinkTable, Layout
from millrace.cdc.schemas.behaving import Policy, fitting_part
from millrace.cdc.schemas.merging import merged
from millrace.connectors.cdc.events import (
    CreateTableEvent,
    DropTableEvent,
    RenameColumnEvent,
    SchemaChangeEvent,
    TruncateTableEvent,
    changed,
)
from millrace.connectors.cdc.schema import TableId, TableSchema

LayoutOf = Callable[[TableId, TableSchema], Layout]
"""what the transforms make of a table of the source"""
Told = tuple["Following", list[SchemaChangeEvent]]
"""what is known afterwards, and what the sink is told"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Following:
    """What is known of a table of the sink: it is kept in checkpoints.

    :ivar sources: the tables that go to it, as they are in the source now.
    :ivar layout: what the table of the sink is now. None: it is not there.
    :ivar version: how many changes of it the sink was told of, counted for this ``lineage``.
    """

    sink: TableId
    sources: Mapping[TableId, TableSchema] = field(default_factory=dict)
    layout: Layout | None = None
    version: int = 0
    lineage: str = ""

    def after(self, source: TableId, event: SchemaChangeEvent, layout_of: LayoutOf, policy: Policy) -> Told:
        """A table of the source was changed.

        :raises SchemaChangeRefused: the behavior is ``exception``.
        """
        if isinstance(event, CreateTableEvent):
            return self._created(source, event.schema, layout_of, policy)
        known = self.sources.get(source)
        if known is None:
            return self, []  # it tells of itself with its next row
        if isinstance(event, DropTableEvent):
            return self._dropped(source, policy)
        if isinstance(event, TruncateTableEvent):
            return self, self._if_alone(TruncateTableEvent(self.sink), policy)
        fitting = fitting_part(event, known)
        if fitting is None:
            return self, []
        new = fitting.apply(known)
        return self._changed(source, known, new, layout_of, policy, fitting)

    def before_rows(self, source: TableId, schema: TableSchema, layout_of: LayoutOf, policy: Policy) -> Told:
        """Rows come that have a schema of the source. Parallel readers of a snapshot may see a table before and after
        a change, in any order: so nothing is taken away because of it."""
        known = self.sources.get(source)
        if known == schema and self.layout is not None:
            return self, []
        if known is None or self.layout is None:
            return self._created(source, schema, layout_of, policy)
        wider = merged(known, schema)
        if wider == known:
            return self, []
        return self._changed(source, known, wider, layout_of, policy)

    def _created(self, source: TableId, schema: TableSchema, layout_of: LayoutOf, policy: Policy) -> Told:
        known = self.sources.get(source)
        if known is not None and self.layout is not None:
            wider = merged(known, schema)
            return self._changed(source, known, wider, layout_of, policy) if wider != known else (self, [])
        layout, sources = layout_of(source, schema), {**self.sources, source: schema}
        if self.layout is None:
            event = CreateSinkTable(self.sink, layout.schema, layout.partition_keys, layout.options)
            return replace(self, sources=sources, layout=layout), [event] if policy.accepts(event) else []
        _check_key(self, source, layout)
        return replace(self, sources=sources)._told(self._widened(layout.schema), policy)

    def _changed(
        self,
        source: TableId,
        old: TableSchema,
        new: TableSchema,
        layout_of: LayoutOf,
        policy: Policy,
        event: SchemaChangeEvent | None = None,
    ) -> Told:
        assert self.layout is not None
        before, after = layout_of(source, old).schema, layout_of(source, new).schema
        following = replace(self, sources={**self.sources, source: new})
        if len(following.sources) > 1:
            return following._told(self._widened(after), policy)
        events: list[SchemaChangeEvent] = []
        if isinstance(event, RenameColumnEvent):
            renamed = {a: b for a, b in event.names.items() if _moved(before, after, a, b)}
            if renamed:
                events.append(RenameColumnEvent(self.sink, renamed))
                before = events[0].apply(before)
        return following._told([*events, *changed(self.sink, before, after)], policy)

    def _dropped(self, source: TableId, policy: Policy) -> Told:
        event = self._if_alone(DropTableEvent(self.sink), policy)
        rest = {table: schema for table, schema in self.sources.items() if table != source}
        return replace(self, sources=rest, layout=None if event else self.layout), event

    def _if_alone(self, event: SchemaChangeEvent, policy: Policy) -> list[SchemaChangeEvent]:
        """A change of the whole table, which is none of the sink's if others go there, too."""
        if len(self.sources) > 1:
            others = ", ".join(map(str, self.sources))
            logger.warning("table %s stays as it is at a %s: %s go there", self.sink, type(event).__name__, others)
            return []
        assert self.layout is not None
        return policy.let_through([event], self.layout.schema)

    def _widened(self, other: TableSchema) -> Sequence[SchemaChangeEvent]:
        assert self.layout is not None
        current = self.layout.schema
        return changed(self.sink, current, merged(current, other))

    def _told(self, events: Sequence[SchemaChangeEvent], policy: Policy) -> Told:
        assert self.layout is not None
        schema = self.layout.schema
        found = policy.let_through(events, schema) if events else []
        for event in found:
            schema = event.apply(schema)
        return replace(self, layout=replace(self.layout, schema=schema)), found


def _moved(before: TableSchema, after: TableSchema, old: str, new: str) -> bool:
    return old in before.names and old not in after.names and new in after.names and new not in before.names


def _check_key(following: Following, source: TableId, layout: Layout) -> None:
    assert following.layout is not None
    keys = following.layout.schema.primary_key
    if keys and set(keys) - set(layout.schema.names):
        raise ValueError(
            f"table {source} cannot go to {following.sink}: the key there is ({', '.join(keys)}), and {source} has the "
            f"columns {', '.join(layout.schema.names)}. Name a key that all have under 'primary-keys'"
        )
