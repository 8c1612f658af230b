"""Dialects of SQL."""

from __future__ import annotations

from enum import Enum

__all__ = ["SqlDialect"]


class SqlDialect(Enum):
    """A dialect of SQL; only DEFAULT is read.

        >>> t_env.get_config().get_sql_dialect()
        <SqlDialect.DEFAULT: 0>
    """

    DEFAULT = 0
    HIVE = 1
