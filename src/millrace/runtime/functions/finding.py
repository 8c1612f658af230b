"""The functions of the user in expressions, aggregate calls and tuples of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millrace.relational.rex import AggCall, Rex, SortKey, UdfCall, walk


def wrappers_in(part: Any) -> Iterator[Any]:
    """The wrapper (``table.udf``) of each call in a part of an operator's description."""
    if isinstance(part, Rex):
        yield from (each.function for each in walk(part) if isinstance(each, UdfCall))
    elif isinstance(part, AggCall):
        if part.udf is not None:
            yield part.udf
        yield from wrappers_in(tuple(part.inputs()))
    elif isinstance(part, SortKey):
        yield from wrappers_in(part.expression)
    elif isinstance(part, (tuple, list)):
        for each in part:
            yield from wrappers_in(each)
