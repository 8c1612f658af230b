"""Arguments as older versions had them: several names in one text, kinds of functions, paths in parts."""

from __future__ import annotations

from typing import Any

from millrace.legacy.telling import tell

__all__ = ["todays_arguments"]

_Call = tuple[tuple[Any, ...], dict[str, Any]]


def todays_arguments(function: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> _Call:
    """The arguments of a call of today's function."""
    if function == "Table.alias":
        return _alias(args), keywords
    if function == "Table.insert_into":
        return _insert_into(args), keywords
    if "udf_type" in keywords:
        tell(f"{function}(..., udf_type=...)", f"{function}(..., func_type=...)")
        keywords = dict(keywords)
        keywords["func_type"] = keywords.pop("udf_type")
    return args, keywords


def _alias(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """``alias("a, b")`` is ``alias("a", "b")``."""
    table, *names = args
    if not any("," in name for name in names if isinstance(name, str)):
        return args
    tell('Table.alias("a, b")', 'Table.alias("a", "b")')
    return (table, *(part.strip() for name in names for part in str(name).split(",")))


def _insert_into(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """``insert_into("catalog", "database", "table")`` is ``insert_into("catalog.database.table")``."""
    table, *parts = args
    if len(parts) < 2 or not all(isinstance(part, str) for part in parts):
        return args
    tell("Table.insert_into() with the parts of a path", 'Table.execute_insert("catalog.database.table")')
    return (table, ".".join(f"`{part}`" for part in parts))
