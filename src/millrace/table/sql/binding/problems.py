"""Refusing a query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from millrace.graph.origin import user_origin
from millrace.relational.deep_calls import deep_calls
from millrace.table.sql import nodes
from millrace.table.sql.text.errors import SqlValidationError, position_of
from millrace.table.sql.text.names import Name, Path
from millrace.table.sql.writing.programs import shown
from millrace.util.exceptions import TableException

_TOO_DEEP = "operators, brackets, queries or calls are nested too deeply: compute a part in a subquery or a view before"


def fail(where: nodes.Node | Name | Path | None, message: str) -> NoReturn:
    """Refuse a query because of this part of it: the error shows where it stands, in SQL or in the user's program."""
    if isinstance(where, (Name, Path)):
        raise SqlValidationError(message, where.position)
    if where is None or not by_program(where):
        raise SqlValidationError.at(where, message)
    part = shown(where)
    if f"'{part}'" not in message:
        message = f"{part}: {message}"
    raise TableException(f"{user_origin()}: {message}")


def by_program(tree: nodes.Node) -> bool:
    """Whether a program made this part: it has no place in a text."""
    return position_of(tree) is None


@contextmanager
def reported(tree: nodes.Node) -> Iterator[None]:
    """What a rule refuses (it knows of no text) is reported at this part of a query."""
    try:
        with deep_calls():
            yield
    except NotImplementedError as error:
        raise SqlValidationError.at(tree, str(error)) from error
    except RecursionError:
        # Without a look at its parts, which would go as deep once more.
        if tree.position is None:
            raise TableException(f"{user_origin()}: {_TOO_DEEP}") from None
        raise SqlValidationError(_TOO_DEEP, tree.position) from None
