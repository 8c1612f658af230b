# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``EnvironmentSettings``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.sessions.session import EnvironmentSettings

__all__ = [
    "EnvironmentSettings",
]
