"""List state in which each element has a time to live."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from millrace.common.state import ListState
from millrace.runtime.state import keyed
from millrace.runtime.state.address import Addressed
from millrace.runtime.state.keyed import HeapListState
from millrace.runtime.state.ttl import Entry, Expiry
from millrace.runtime.state.ttl_tables import TtlListTable


class TtlListState(ListState[Any]):
    def __init__(self, backend: Addressed, table: TtlListTable, expiry: Expiry) -> None:
        self._backend = backend
        self._table = table
        self._expiry = expiry
        self._inner = HeapListState(backend, table)
        self.absorb = self._inner.absorb

    def get(self) -> Iterable[Any]:
        expiry, at = self._expiry, self._backend.at
        now = expiry.access()
        row: list[Entry] | None = self._table.row(at)
        if row is None:
            return iter(())
        limit = now - expiry.ttl
        alive = [entry for entry in row if entry[0] > limit]
        shown = row if expiry.show_expired else alive
        values = [value for _, value in shown]
        if 2 * len(alive) <= len(row):
            # Removing elements writes the whole list to the next delta: worth it when at least as many elements are
            # removed.
            self._table.drop(at, expiry.horizon() - expiry.ttl)
        if expiry.renew_on_read:
            self._renew(limit, now)
        return iter(values)

    def _renew(self, limit: int, now: int) -> None:
        row: list[Entry] = self._table.row(self._backend.at) or []
        if any(limit < stamp < now for stamp, _ in row):
            self._inner.update([(now, value) if limit < stamp < now else (stamp, value) for stamp, value in row])

    def add(self, value: Any) -> None:
        self._inner.add((self._expiry.access(), value))

    def add_all(self, values: list[Any]) -> None:
        now = self._expiry.access()
        self._inner.add_all([(now, value) for value in values])

    def update(self, values: list[Any]) -> None:
        now = self._expiry.access()
        self._inner.update([(now, value) for value in values])

    def clear(self) -> None:
        self._inner.clear()


# Kinds, which entry points name

LIST = replace(keyed.LIST, made=TtlListState)
