# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``ChangelogMode``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.sessions.session import ChangelogMode

__all__ = [
    "ChangelogMode",
]
