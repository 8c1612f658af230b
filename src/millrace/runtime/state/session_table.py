"""The table of session windows: the open sessions of every key."""

from __future__ import annotations

from typing import Any

from millrace.runtime.state.tables import ValueTable

START, END, CONTENTS = 0, 1, 2
"""positions in a session, which is a list: it grows in place"""


class SessionTable(ValueTable):
    """Sessions of each key, in the order of time, never overlapping: ``rows`` is key -> list of sessions."""

    kind = "sessions"

    def __init__(self) -> None:
        super().__init__()
        self.applied: list[Any] = []
        """keys that deltas of other copies changed; the operator clears the list when it has processed them"""

    def apply(self, changes: dict[Any, Any]) -> None:
        super().apply(changes)
        self.applied.extend(changes)
