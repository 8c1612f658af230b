"""What PEP 249 leaves to the drivers: how a statement marks its parameters, and who begins transactions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Connect", "bind", "driver_of", "escaped", "open_connection", "param_style", "placeholders"]

Connect = Callable[[], Any]
"""Opens a connection. Pickled into the tasks; called in tasks and on the driver."""

_MARKS = {"qmark": "?", "format": "%s", "numeric": ":{}", "named": ":p{}", "pyformat": "%(p{})s"}


def open_connection(connect: Connect) -> Any:
    """A connection whose transactions end with ``commit()``.

    :raises ValueError: it commits each statement by itself.
    """
    connection = connect()
    if getattr(connection, "autocommit", False) is True or _is_sqlite_in_autocommit(connection):
        connection.close()
        raise ValueError(
            f"connect() opens a {type(connection).__name__} in autocommit mode: a batch could be written by half. "
            f"Turn autocommit off, which is the default of PEP 249"
        )
    return connection


def _is_sqlite_in_autocommit(connection: Any) -> bool:
    # Here None stands for autocommit, unless the new attribute ``autocommit`` (Python 3.12) says False.
    missing = object()
    level = getattr(connection, "isolation_level", missing)
    return driver_of(connection) == "sqlite3" and level is None and getattr(connection, "autocommit", True) is not False


def driver_of(connection: Any) -> str:
    """The name of the driver's top module, such as ``sqlite3`` or ``psycopg``."""
    for kind in type(connection).__mro__:
        name = kind.__module__.partition(".")[0]
        if hasattr(sys.modules.get(name), "paramstyle"):
            return name
    return ""


def param_style(connection: Any) -> str:
    """How the driver wants parameters marked: one of PEP 249's five.

    :raises ValueError: the driver does not say.
    """
    style = getattr(sys.modules.get(driver_of(connection)), "paramstyle", None)
    if style not in _MARKS:
        kind = type(connection)
        raise ValueError(
            f"{kind.__module__}.{kind.__name__} belongs to no module with a paramstyle (PEP 249): give param_style="
        )
    return str(style)


def placeholders(style: str, count: int) -> list[str]:
    """The marks of the parameters of a statement, in their order."""
    return [_MARKS[style].format(number) for number in range(1, count + 1)]


def escaped(text: str, style: str) -> str:
    """A piece of a statement that is no mark, whatever it looks like."""
    return text.replace("%", "%%") if style in ("format", "pyformat") else text


def bind(style: str, values: Sequence[Any]) -> Any:
    """Parameters for a statement that was made with ``placeholders``."""
    if style in ("named", "pyformat"):
        return {f"p{number}": value for number, value in enumerate(values, start=1)}
    return tuple(values)
