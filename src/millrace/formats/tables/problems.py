"""Errors of formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.formats.tables.options import IGNORE, Options
from millrace.relational.types import DataType

_SHOWN = 200


class NoForm(TypeError):
    """A format has no form for the values of a type; the message says for which and why."""


def check_types(options: Options, make: Callable[[DataType], Any]) -> None:
    """See that a format has a form for all columns of its table.

    :param make: raises ``NoForm`` for a type.
    :raises TableException: names the first column that it has none for.
    """
    for column in options.table.columns:
        try:
            make(column.type)
        except NoForm as error:
            raise options.problem(f"format '{options.format}', column '{column.name}': {error}") from error


class MalformedError(ValueError):
    """A message that a format cannot read.

    :ivar number: of the message among those that were to be decoded, from 0.
    """

    def __init__(self, table: str, number: int, what: str) -> None:
        super().__init__(f"table {table}: message {number} is malformed: {what}")
        self.number = number
        self._table = table
        self._what = what

    def at(self, place: str) -> str:
        """The same, for a message whose place is known better than by a number."""
        return f"{place}: table {self._table}: {self._what}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._table, self.number, self._what)


def malformed(table: str, number: int, message: bytes, reason: object, advice: str = "") -> MalformedError:
    """The error for a message; ``number`` counts from 0."""
    shown = repr(message[:_SHOWN])[2:-1] + ("..." if len(message) > _SHOWN else "")
    return MalformedError(table, number, f"{reason}. It is: {shown}{advice}")


LENIENCE = f" (the format's option '{IGNORE}' leaves such messages out)"
"""advice for formats that have it"""
