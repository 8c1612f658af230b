"""Bringing rows that were read between two positions of the log to the second one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from millrace.connectors.cdc.changes import Change

__all__ = ["merged"]

Row = tuple[Any, ...]


def merged(
    rows: Sequence[Row],
    changes: Iterable[Change],
    key: Callable[[Row], Any],
    inside: Callable[[Row], bool],
) -> list[Row]:
    """The rows of a chunk as they are at the high watermark.

    The rows may or may not have each of the changes between the low and the high watermark. Since a change has the
    whole new row it makes no difference to apply it once more.

    :param changes: of the table, from the low watermark to the high one, in the order of the log.
    :param key: of a row, by which rows are told apart.
    :param inside: whether a row lies in the chunk.
    """
    found = {key(row): row for row in rows}
    for change in changes:
        # A row that was there for a while only leaves nothing behind.
        if change.before is not None and inside(change.before):
            found.pop(key(change.before), None)
        if change.after is not None and inside(change.after):
            found[key(change.after)] = change.after
        elif change.after is not None:
            found.pop(key(change.after), None)
    return list(found.values())
