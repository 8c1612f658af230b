"""Aggregates with WITHIN GROUP (ORDER BY ...): the sort keys are stored with the arguments of each row."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.relational.functions.aggregates.registry import Accumulation, Entry, Folding, Keeping, accumulation
from millrace.relational.rex import AggCall, SortKey


@dataclass(frozen=True)
class InOrder(Keeping):
    """An aggregate that gets its rows in an order; rows with equal sort keys are in the order of arrival."""

    in_order = True
    skips_nulls = False
    below: Keeping
    order: tuple[SortKey, ...]
    width: int
    """number of arguments of the aggregate itself; the sort keys follow them"""
    distinct: bool

    def result(self, entries: Sequence[Entry]) -> Any:
        rows = sorted(((place, row) for row, places in entries for place in places), key=lambda pair: pair[0])
        for at, key in reversed(list(enumerate(self.order, self.width))):
            known = sorted(
                (each for each in rows if each[1][at] is not None), key=lambda each: each[1][at], reverse=key.descending
            )
            nulls = [each for each in rows if each[1][at] is None]
            rows = [*nulls, *known] if key.nulls_first else [*known, *nulls]
        arguments = [row[: self.width] for _, row in rows]
        if self.below.skips_nulls:
            arguments = [row for row in arguments if row[0] is not None]
        found: dict[bytes, tuple[tuple[Any, ...], list[int]]] = {}
        for place, row in enumerate(arguments):
            known_row = found.setdefault(pickle.dumps(row), (row, []))
            if not (self.distinct and known_row[1]):
                known_row[1].append(place)
        if not found:
            return self.below.empty()
        return self.below.result(
            [(row, places if self.below.in_order else len(places)) for row, places in found.values()]
        )

    def empty(self) -> Any:
        return self.below.empty()


def without_order(call: AggCall) -> AggCall:
    """The call without its order, if its value does not depend on an order."""
    return replace(call, order=())


def with_keys(call: AggCall) -> AggCall:
    """The call with its sort keys as further arguments. ``InOrder`` applies DISTINCT."""
    return replace(call, args=(*call.args, *(key.expression for key in call.order)), order=(), distinct=False)


def in_order(call: AggCall, retracts: bool) -> Accumulation | None:
    """The computation of a call with an order; None if its value does not depend on the order.

    :raises NotImplementedError: FIRST_VALUE and LAST_VALUE.
    """
    below = accumulation(without_order(call), retracts)
    if isinstance(below, Keeping):
        return InOrder(below, call.order, len(call.args), call.distinct)
    if isinstance(below, Folding) and any(slot.reduce in ("first", "last") for slot in below.slots):
        raise NotImplementedError(
            f"{call.function} with WITHIN GROUP (ORDER BY ...): number the rows with ROW_NUMBER() OVER (... ORDER BY "
            f"...) and take the first one"
        )
    return None
