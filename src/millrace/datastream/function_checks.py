"""What can be seen of a function before it runs: one that yields where a value is wanted, one that gives nothing."""

from __future__ import annotations

import dis
import inspect
import logging
from types import FunctionType, MethodType
from typing import Any

from millrace.graph.origin import user_origin

logger = logging.getLogger("millrace")


def refuse_generator(func: Any, method: str, where: str) -> None:
    """Raise for a function that yields where one value is taken.

    :param func: a function, or an object whose ``method`` it is.
    """
    if inspect.isgeneratorfunction(_called(func, method)):
        raise TypeError(
            f"{where} at {user_origin()} takes a function that returns one value, and this one yields: it would give "
            "a generator itself; flat_map() sends on what is yielded"
        )


def warn_of_nothing(func: Any, method: str, where: str) -> None:
    """Say so where a function has neither ``yield`` nor a ``return`` with a value: 0 results, whatever comes."""
    found = _called(func, method)
    if isinstance(found, (FunctionType, MethodType)) and _gives_nothing(found):
        logger.warning(
            "%s at %s: its function returns and yields nothing, so there are 0 results: `return [...]`, or `yield`",
            where,
            user_origin(),
        )


def _called(func: Any, method: str) -> Any:
    return getattr(func, method, func)


def _gives_nothing(function: FunctionType | MethodType) -> bool:
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        return False
    before, returned = None, False
    for each in dis.get_instructions(function):
        if each.opname == "RETURN_CONST" and each.argval is not None:
            return False
        if each.opname == "RETURN_VALUE" and not _is_none(before):
            return False
        returned = returned or each.opname in ("RETURN_CONST", "RETURN_VALUE")
        before = each
    return returned  # one that only raises is not to return


def _is_none(instruction: dis.Instruction | None) -> bool:
    return instruction is not None and instruction.opname == "LOAD_CONST" and instruction.argval is None
