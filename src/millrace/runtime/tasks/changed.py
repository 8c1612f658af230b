"""When an epoch in flow has changed so much state that it should end: all of it is recorded at its end, at once."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.runtime.tasks.member import Member

MOST_ENTRIES = 200_000
"""Entries of keyed state of a task that an epoch changes."""
MOST_BYTES = 64 * 1024 * 1024
"""Bytes that come to an operator with keyed state: what it stores of them is not measured."""
LOOK_NANOSECONDS = 50_000_000
"""How often the entries are counted."""


class Changed:
    """The changes of a task's operators since the epoch began."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = [each for each in members if each.operator.keyed_state() is not None]
        self._at = 0
        """when (ns) they are counted again"""
        self.much = False
        """whether the epoch should end"""

    def begin(self) -> None:
        """An epoch begins."""
        self._at, self.much = 0, False

    def look(self, now: int) -> None:
        """Count, if it is time for that.

        :param now: ns.
        """
        if now >= self._at and self._members and not self.much:
            self._at = now + LOOK_NANOSECONDS
            entries = sum(each.operator.keyed_state().pending() for each in self._members)
            self.much = entries >= MOST_ENTRIES or any(each.gate.bytes >= MOST_BYTES for each in self._members)
