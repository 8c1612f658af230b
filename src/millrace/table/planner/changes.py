"""What each node of a streaming plan says about its changing table: whether rows are updated or deleted, and by which
columns a row is known again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

Key = tuple[int, ...]


@dataclass(frozen=True)
class Changes:
    """Of the result of one node."""

    updates: bool = False
    deletes: bool = False
    keys: frozenset[Key] = frozenset()
    """sets of columns of which no two rows of the table have equal values"""
    cause: str = ""
    """what first made it more than insertions, for people"""

    @property
    def append_only(self) -> bool:
        return not (self.updates or self.deletes)

    @property
    def text(self) -> str:
        """As EXPLAIN shows it, e.g. ``[I,UB,UA,D]``."""
        kinds = ["I", *(["UB", "UA"] if self.updates else []), *(["D"] if self.deletes else [])]
        return f"[{','.join(kinds)}]"


APPEND = Changes()


class ChangelogError(ValueError):
    """An operator or a sink would get changes that it can't take."""


def same(node: Any, inputs: list[Changes]) -> Changes:
    """Those of the input."""
    return inputs[0]


def append(node: Any, inputs: list[Changes]) -> Changes:
    """Insertions alone."""
    return APPEND


def without_keys(node: Any, inputs: list[Changes]) -> Changes:
    """Those of the input, of which one row may have become several."""
    return replace(inputs[0], keys=frozenset())


def moved(keys: Iterable[Key], place: dict[int, int]) -> frozenset[Key]:
    """Keys at other places; those that are not there as a whole are none any more."""
    return frozenset(tuple(place[each] for each in key) for key in keys if all(each in place for each in key))
