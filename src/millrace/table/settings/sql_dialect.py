"""Dialects of SQL."""

from __future__ import annotations

from enum import Enum

__all__ = ["SqlDialect"]


class SqlDialect(Enum):
    """A dialect of SQL; only DEFAULT is read."""

    DEFAULT = 0
    HIVE = 1
