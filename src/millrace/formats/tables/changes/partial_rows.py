"""Old rows of which messages have only what changed: the rest is as in the new row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables.lists import relisted

DATA, OLD, TYPE = range(3)
"""positions of the columns"""


@dataclass(frozen=True)
class PartialRows:
    """For messages with the members ``data``, ``old`` and ``type``. In ``old`` a member that is null was NULL, one that
    is missing has not changed.

    :param update: the type of messages with an old row.
    :param lists: whether ``data`` and ``old`` are lists of as many rows.
    """

    update: str
    lists: bool

    def unsure(self, columns: list[pa.Array], messages: pa.Array) -> pa.Array:
        updates = pc.equal(columns[TYPE], self.update).fill_null(False)
        unsure = pc.and_(updates, pc.match_substring(messages, b"null"))
        if not self.lists:
            return unsure
        same = pc.equal(pc.list_value_length(columns[DATA]), pc.list_value_length(columns[OLD]))
        return pc.or_(unsure, pc.and_(updates, pc.invert(same.fill_null(False))))

    def columns(self, columns: list[pa.Array]) -> list[pa.Array]:
        data, old, kinds = columns[:3]
        updates = pc.equal(kinds, self.update).fill_null(False)
        if not pc.any(updates).as_py():
            return columns
        filled = self._filled(data.filter(updates), old.filter(updates))
        where = pc.if_else(updates, pc.cumulative_sum(updates.cast(pa.int64())), 0)
        merged = pa.concat_arrays([pa.nulls(1, old.type), filled]).take(where)
        return [data, merged, *columns[2:]]

    def _filled(self, data: pa.Array, old: pa.Array) -> pa.Array:
        if self.lists:
            return relisted(old, _coalesced(data.flatten(), old.flatten()))
        return _coalesced(data, old)

    def message(self, message: Any) -> Any:
        if not isinstance(message, dict) or message.get("type") != self.update:
            return message
        data, old = message.get("data"), message.get("old")
        if self.lists and isinstance(data, list) and isinstance(old, list) and len(data) == len(old):
            return {**message, "old": [_merged(*each) for each in zip(data, old)]}
        return message if self.lists else {**message, "old": _merged(data, old)}


def _merged(data: Any, old: Any) -> Any:
    return {**data, **old} if isinstance(data, dict) and isinstance(old, dict) else old


def _coalesced(data: pa.Array, old: pa.Array) -> pa.Array:
    parts = [pc.coalesce(*each) for each in zip(old.flatten(), data.flatten())]
    return pa.StructArray.from_arrays(parts, fields=list(old.type), mask=old.is_null() if old.null_count else None)
