# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Factories of table connectors: how one of your own is registered and found."""

from __future__ import annotations

from millrace.table.sessions.table_info import ENTRY_POINTS, factory_names, factory_of, register_factory

__all__ = [
    "ENTRY_POINTS",
    "factory_names",
    "factory_of",
    "register_factory",
]
