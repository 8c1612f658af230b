"""When keys with partial matches are to be looked at though no event comes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.runtime.windows.agenda import Agenda

SLOT_BITS = 7
"""Keys whose deadlines are within the same 128 ms share a list: a key costs as little as can be."""


class Deadlines:
    """Keys by time (ms). Not state: an operator adds them again from its partial matches after a restore.

    :param exact: whether keys come out at their time only; else they may come up to 128 ms too early, again and again,
        and are to be added again.
    """

    def __init__(self, exact: bool) -> None:
        self._exact: Agenda[Any] | None = Agenda() if exact else None
        self._slots: dict[int, list[Any]] = {}

    def add(self, time: int, key: Any) -> None:
        if self._exact is not None:
            self._exact.add(time, key)
            return
        slot = time >> SLOT_BITS
        keys = self._slots.get(slot)
        if keys is None:
            self._slots[slot] = [key]
        else:
            keys.append(key)

    def due(self, now: int) -> Iterable[Any]:
        """Take off the keys to look at, each once."""
        if self._exact is not None:
            found: dict[Any, None] = {}
            for _, keys in self._exact.due(now):
                found.update(dict.fromkeys(keys))
            return found
        last = now >> SLOT_BITS
        slots = sorted(slot for slot in self._slots if slot <= last)
        return dict.fromkeys(key for slot in slots for key in self._slots.pop(slot))

    def next_time(self) -> int | None:
        """When the first key is due, None for never. For exact times only."""
        return None if self._exact is None else self._exact.next_time()

    def clear(self) -> None:
        self._slots.clear()
        if self._exact is not None:
            self._exact.clear()
