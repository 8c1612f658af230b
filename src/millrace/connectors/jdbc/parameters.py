"""Statements with JDBC's question marks, as Python's drivers want them."""

from __future__ import annotations

import re

_TOKENS = re.compile(
    r"""
    '(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*`          # texts and names
    | --[^\n]* | /\*.*?\*/                             # comments
    | (?P<tag>\$\w*\$).*?(?P=tag)                      # PostgreSQL's texts in dollars
    | (?P<twice>\?\?) | (?P<mark>\?)
    """,
    re.VERBOSE | re.DOTALL,
)


def parameters_of(statement: str) -> int:
    """How many there are."""
    return sum(match["mark"] is not None for match in _TOKENS.finditer(statement))


def translated(statement: str, style: str) -> str:
    """The statement for a driver. ``??`` stands for a question mark that is an operator.

    :param style: ``format`` or ``qmark`` of PEP 249.
    """
    if style == "qmark":
        return statement

    def token(match: re.Match[str]) -> str:
        if match["mark"]:
            return "%s"
        return "?" if match["twice"] else match[0]

    doubled = statement.replace("%", "%%")
    return _TOKENS.sub(token, doubled)
