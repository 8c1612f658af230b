"""Names of tables and columns as they stand in statements: quoted, so that none of them can be anything but a name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from millrace.connectors.dbapi.connection import driver_of

__all__ = ["MYSQL", "TableName", "quote_mark", "quoted", "quoted_table"]

MYSQL = ("pymysql", "MySQLdb", "mysql", "mariadb")
"""drivers of databases that quote with backticks"""
TableName = str | Sequence[str]
"""``schema.table``, or the parts one by one for names that have dots"""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")


def quote_mark(connection: Any) -> str:
    """What the connection's database quotes names with."""
    return "`" if driver_of(connection) in MYSQL else '"'


def quoted(name: str, mark: str) -> str:
    """A name in a statement.

    :param mark: "" for a name that is to be folded as the database folds names: then it has to be a plain one.
    :raises ValueError: no database has such a name.
    """
    if not name or "\0" in name:
        raise ValueError(f"the name of a table or column is not empty and has no NUL, got {name!r}")
    if not mark:
        if not _PLAIN.fullmatch(name):
            raise ValueError(f"without quotes a name has letters, digits, _ and $ only, got {name!r}")
        return name
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def quoted_table(table: TableName, mark: str) -> str:
    """The name of a table, perhaps with its schema and catalog."""
    parts = table.split(".") if isinstance(table, str) else table
    return ".".join(quoted(part, mark) for part in parts)
