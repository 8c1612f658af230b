"""What the recorded changes of a table leave: the rows that batch mode reads in their place."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

Change = list[Any]
WATERMARK = re.compile(
    r"WATERMARK\s+FOR\s+`?(\w+)`?\s+AS\s+`?\w+`?(?:\s*-\s*INTERVAL\s+'(\d+)'\s+SECOND)?", re.IGNORECASE
)
COMPUTED = re.compile(r"`?(\w+)`?\s+AS\s+TO_TIMESTAMP\(`?(\w+)`?\)", re.IGNORECASE)


def net_rows(changes: Sequence[Change], key: Sequence[int] | None = None) -> list[Change]:
    """The rows that are left, in the order in which they came.

    :param key: the columns that a changed row is known by, where only the new one comes; None: all columns.
    """
    rows: list[Change] = []
    for kind, cells in changes:
        if kind in ("-U", "-D") or key is not None:
            rows = _without(rows, cells, range(len(cells)) if key is None else key)
        if kind in ("+I", "+U"):
            rows.append(["+I", cells])
    return rows


def leave_a_table(changes: Sequence[Change]) -> bool:
    """Whether each row that is taken back is there."""
    rows: list[Any] = []
    for kind, cells in changes:
        if kind in ("+I", "+U"):
            rows.append(cells)
        elif cells in rows:
            rows.remove(cells)
        else:
            return False
    return True


def _without(rows: list[Change], cells: list[Any], places: Sequence[int]) -> list[Change]:
    """Without the first row that has these cells at some places."""
    for at, (_, row) in enumerate(rows):
        if all(row[place] == cells[place] for place in places):
            return [*rows[:at], *rows[at + 1 :]]
    return rows


def in_time(schema: Sequence[str], rows: Sequence[Change]) -> list[Change]:
    """The rows that are not behind the watermark when they come: streaming mode may leave the others out."""
    text = "\n".join(schema)
    found = WATERMARK.search(text)
    names = names_of(schema)
    name = "" if found is None else dict(COMPUTED.findall(text)).get(found[1], found[1])
    if found is None or name not in names:
        return list(rows)
    delay = dt.timedelta(seconds=int(found[2] or 0))
    kept: list[Change] = []
    latest = dt.datetime.min + delay
    for kind, cells in rows:
        place = names.index(name)
        time = _time(cells[place]) if place < len(cells) else None
        if time is None or time >= latest - delay:
            kept.append([kind, cells])
        latest = max(latest, time or latest)
    return kept


def names_of(schema: Sequence[str]) -> list[str]:
    """The names of the columns, as far as the parts of a schema begin with them."""
    return [part.split()[0].strip("`") for part in schema]


def _time(cell: Any) -> dt.datetime | None:
    text = cell.get("text") if isinstance(cell, dict) else cell
    return dt.datetime.fromisoformat(text.rstrip("Z")) if isinstance(text, str) else None
