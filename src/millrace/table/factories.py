"""Under PyFlink's path: see ``millrace.table.sessions.factories``."""

from __future__ import annotations

from millrace.table.sessions.factories import ENTRY_POINTS, factory_names, factory_of, register_factory

__all__ = ["ENTRY_POINTS", "factory_names", "factory_of", "register_factory"]
