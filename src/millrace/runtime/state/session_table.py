"""The table of session windows: the open sessions of every key."""

from __future__ import annotations

from typing import Any

from millrace.runtime.state.tables import ValueTable

START, END, CONTENTS = 0, 1, 2
"""positions in a session, which is a list: it grows in place"""


class SessionTable(ValueTable):
    """rows: key -> its sessions in the order of time; they never overlap."""

    kind = "sessions"

    def __init__(self) -> None:
        super().__init__()
        self.applied: list[Any] = []
        """keys that deltas of other copies changed; the operator empties it when it has followed"""

    def apply(self, changes: dict[Any, Any]) -> None:
        super().apply(changes)
        self.applied.extend(changes)
