"""Parameters in the place of the ``?`` of a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.dbapi.errors import ProgrammingError
from millrace.dbapi.literals import literal
from millrace.table.sql.text.errors import SqlParseError
from millrace.table.sql.text.source import Source
from millrace.table.sql.text.tokens import tokenize


def filled(statement: str, parameters: Sequence[Any]) -> str:
    """The statement with literals. A ``?`` in a text, a quoted name or a comment is none.

    :raises ProgrammingError: another number of parameters, one without a literal, or a text without an end.
    """
    if isinstance(parameters, (str, bytes, Mapping)) or not isinstance(parameters, Sequence):
        raise ProgrammingError(f"parameters are a list or tuple with a value for each '?', not a {_name(parameters)}")
    places = _places(statement)
    if len(places) != len(parameters):
        raise ProgrammingError(f"the statement has {len(places)} '?', and {len(parameters)} parameters were given")
    pieces, begin = [], 0
    for place, value in zip(places, parameters):
        pieces += [statement[begin:place], literal(value)]
        begin = place + 1
    return "".join([*pieces, statement[begin:]])


def _places(statement: str) -> list[int]:
    try:
        return [token.start for token in tokenize(Source(statement)) if token.word == "?"]
    except SqlParseError as error:
        raise ProgrammingError(str(error)) from None


def _name(value: object) -> str:
    return type(value).__name__
