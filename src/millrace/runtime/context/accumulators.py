"""The accumulators of one operator's subtask, in one copy of it or on the driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

from millrace.common.accumulators import Accumulator, GrowingAccumulator
from millrace.runtime.pickling import dumps

AnyAccumulator = Accumulator[Any, Any]
A = TypeVar("A", bound=AnyAccumulator)
"""Type of an accumulator."""


class AccumulatorChange(NamedTuple):
    """What became of an accumulator in an epoch."""

    payload: bytes
    """an accumulator, pickled"""
    whole: bool
    """whether it takes the place of what was there, or is to be merged into that"""


class Accumulators:
    """Accumulators by name. Changes of one copy are applied to the others, and to the driver's."""

    def __init__(self) -> None:
        self._by_name: dict[str, AnyAccumulator] = {}
        self._added: set[str] = set()
        """those that the user's function has asked for in this copy; others came from another copy"""
        self._known: dict[str, bytes] = {}
        """their state at the last ``changes``, to see what has changed; of growing ones only that they are known"""

    def add(self, name: str, accumulator: AnyAccumulator) -> None:
        """Raises ``ValueError`` if the function has one of this name already."""
        if not isinstance(accumulator, Accumulator):
            raise TypeError(f"the accumulator {name!r} must be an Accumulator, not {accumulator!r}")
        if name in self._added:
            raise ValueError(f"the accumulator {name!r} exists already: it can be added once")
        there = self._by_name.get(name)
        if there is not None:
            _check_type(name, there, type(accumulator))
            _replace(accumulator, there)
            _everybody_knows(accumulator)
        self._by_name[name] = accumulator
        self._added.add(name)

    def expect_again(self) -> None:
        """A new instance of the function takes over, and will add its accumulators as the old one did."""
        self._added.clear()

    def get(self, name: str) -> AnyAccumulator | None:
        """None if there is none of this name."""
        return self._by_name.get(name)

    def get_or_add(self, name: str, kind: type[A]) -> A:
        """The accumulator of this name, a new one if there is none. Raises ``TypeError`` if it is of another kind."""
        if name not in self._by_name:
            self._by_name[name] = kind()
        self._added.add(name)
        accumulator = self._by_name[name]
        _check_type(name, accumulator, kind)
        return accumulator  # type: ignore[return-value]

    def items(self) -> Iterator[tuple[str, AnyAccumulator]]:
        return iter(self._by_name.items())

    def changes(self) -> dict[str, AccumulatorChange]:
        """What has changed since the last call. Raises what pickle raises, naming the accumulator."""
        changed = {}
        for name, accumulator in self._by_name.items():
            if isinstance(accumulator, GrowingAccumulator):
                increment = accumulator.take_increment()
                if name not in self._known:
                    changed[name] = AccumulatorChange(_pickled(name, accumulator), True)
                elif increment is not None:
                    changed[name] = AccumulatorChange(_pickled(name, increment), False)
                self._known[name] = b""
                continue
            payload = _pickled(name, accumulator)
            if self._known.get(name) != payload:
                self._known[name] = payload
                changed[name] = AccumulatorChange(payload, True)
        return changed

    def full(self) -> dict[str, AccumulatorChange]:
        """All accumulators as a whole."""
        return {name: AccumulatorChange(_pickled(name, acc), True) for name, acc in self._by_name.items()}

    def apply(self, changes: dict[str, AccumulatorChange]) -> None:
        """Do the changes of another copy. The objects that the user's function holds stay the same."""
        for name, (payload, whole) in changes.items():
            change = pickle.loads(payload)
            there = self._by_name.get(name)
            if there is None:
                self._by_name[name] = there = change
            elif whole:
                _replace(there, change)
            else:
                there.merge(change)
            _everybody_knows(there)
            self._known[name] = payload


def _replace(accumulator: AnyAccumulator, content: AnyAccumulator) -> None:
    accumulator.reset_local()
    accumulator.merge(content)


def _everybody_knows(accumulator: AnyAccumulator) -> None:
    """What is in it came from other copies: it is no increment of this one."""
    if isinstance(accumulator, GrowingAccumulator):
        accumulator.take_increment()


def _check_type(name: str, there: AnyAccumulator, wanted: type) -> None:
    if type(there) is not wanted:
        raise TypeError(f"the accumulator {name!r} is a {type(there).__name__}, not a {wanted.__name__}")


def _pickled(name: str, accumulator: AnyAccumulator) -> bytes:
    try:
        return dumps(accumulator)
    except Exception as error:
        raise TypeError(f"the accumulator {name!r} can't be pickled: {error}") from error
