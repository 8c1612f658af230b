"""Positions in streams of Redis."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ID = re.compile(r"(\d+)(?:-(\d+))?")
BEGIN = "0-0"


@dataclass(frozen=True)
class StreamSplit:
    """A stream and how far it is read.

    :ivar after: the id of the last entry that was read.
    :ivar count: how many entries there were up to it in all of the stream's life; None: not known.
    :ivar stop: the id of the last entry to be read; None: there is no end.
    """

    stream: str
    after: str = BEGIN
    count: int | None = None
    stop: str | None = None

    @property
    def split_id(self) -> str:
        return self.stream


def parsed(id: str) -> tuple[int, int]:
    """An entry's id as two numbers that can be compared. :raises ValueError: it is none."""
    found = _ID.fullmatch(id)
    if found is None:
        raise ValueError(f"{id!r} is no id of an entry in a Redis stream: they are like 1700000000000-0")
    return int(found[1]), int(found[2] or 0)
