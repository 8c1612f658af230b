"""Which subtasks of the next operator an element goes to.

A partitioner is a frozen description; ``router`` makes the object that one sending subtask uses for one epoch. A router
splits whole chunks: never a Python call per element where slices do.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from typing import Any

from millrace.runtime.elements import Chunk
from millrace.runtime.keygroups import KeyTargets

Router = Callable[[Chunk], Iterator[tuple[int, Chunk]]]
"""Splits a chunk into (target subtask, its part), elements in order within a part."""


class PartitioningError(Exception):
    """The user's key selector or partitioner failed on an element."""

    def __init__(self, element: Any, what: str) -> None:
        super().__init__(what)
        self.element = element


@dataclass(frozen=True)
class Partitioner(ABC):
    """How the elements of an edge are spread."""

    ship_strategy = ""
    """Flink's name in the plan JSON."""
    pointwise = False
    """Whether a sender reaches only some receivers."""

    @abstractmethod
    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        """The splitting function of one sending subtask."""

    def targets(self, subtask: int, senders: int, receivers: int) -> Sequence[int]:
        """The receivers that this sender may reach: they all get its watermarks."""
        return range(receivers)

    def sources(self, subtask: int, senders: int, receivers: int) -> list[int]:
        """The senders that may reach this receiver: its channels."""
        return [sender for sender in range(senders) if subtask in self.targets(sender, senders, receivers)]


@dataclass(frozen=True)
class Forward(Partitioner):
    """Subtask i to subtask i; both sides have the same parallelism."""

    ship_strategy = "FORWARD"
    pointwise = True

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        return lambda chunk: iter([(subtask, chunk)])

    def targets(self, subtask: int, senders: int, receivers: int) -> Sequence[int]:
        return (subtask,)


@dataclass(frozen=True)
class Rebalance(Partitioner):
    """Round robin over all receivers."""

    ship_strategy = "REBALANCE"

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        return _round_robin(range(receivers), start=subtask)


@dataclass(frozen=True)
class Rescale(Partitioner):
    """Round robin over the receivers that belong to this sender: less network, but local imbalance stays."""

    ship_strategy = "RESCALE"
    pointwise = True

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        return _round_robin(self.targets(subtask, senders, receivers), start=0)

    def targets(self, subtask: int, senders: int, receivers: int) -> Sequence[int]:
        if receivers >= senders:
            return range(subtask * receivers // senders, (subtask + 1) * receivers // senders)
        return (subtask * receivers // senders,)


@dataclass(frozen=True)
class Shuffle(Partitioner):
    """Each element to a receiver drawn at random."""

    ship_strategy = "SHUFFLE"

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        draw = random.Random(subtask)

        def split(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
            return _split_by_target(chunk, draw.choices(range(receivers), k=len(chunk.values)), receivers)

        return split


@dataclass(frozen=True)
class Global(Partitioner):
    """Everything to subtask 0."""

    ship_strategy = "GLOBAL"

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        return lambda chunk: iter([(0, chunk)])


@dataclass(frozen=True)
class Broadcast(Partitioner):
    """Every element to every receiver."""

    ship_strategy = "BROADCAST"

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        return lambda chunk: ((target, chunk) for target in range(receivers))


@dataclass(frozen=True)
class Custom(Partitioner):
    """The user's function (key, number of receivers) -> receiver."""

    partition: Callable[[Any, int], int]
    key_selector: Callable[[Any], Any]
    ship_strategy = "CUSTOM"

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        def target_of(value: Any) -> int:
            target = self.partition(self.key_selector(value), receivers)
            if not 0 <= target < receivers:
                raise ValueError(f"the partitioner answered {target!r}, which is not in 0..{receivers - 1}")
            return target

        def split(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
            targets = each(target_of, chunk.values, "the partitioner of partition_custom failed")
            return _split_by_target(chunk, targets, receivers)

        return split


@dataclass(frozen=True)
class Hash(Partitioner):
    """By the key group of the element's key; the keys travel with the elements."""

    key_selector: Callable[[Any], Any]
    max_parallelism: int = 128
    ship_strategy = "HASH"

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        target_of = KeyTargets(self.max_parallelism, receivers)

        def split(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
            keys = each(self.key_selector, chunk.values, "the key selector failed")
            keyed = Chunk(chunk.values, chunk.timestamps, keys)
            if receivers == 1:
                # A key without a stable hash must not work here and fail after a rescale.
                each(target_of.__getitem__, keys[:1], "the key can't be hashed")
                return iter([(0, keyed)])
            return _split_by_target(keyed, each(target_of.__getitem__, keys, "the key can't be hashed"), receivers)

        return split


def each(function: Callable[[Any], Any], values: list[Any], what: str) -> list[Any]:
    """``[function(v) for v in values]``, with the failing element in the error."""
    remaining = iter(values)
    try:
        return list(map(function, remaining))
    except Exception as error:
        element = values[len(values) - remaining.__length_hint__() - 1]
        raise PartitioningError(element, what) from error


def _split_by_target(chunk: Chunk, targets: list[int], receivers: int) -> Iterator[tuple[int, Chunk]]:
    for target in range(receivers):
        chosen = list(map(target.__eq__, targets))
        if True in chosen:
            yield target, _select(chunk, lambda column, chosen=chosen: list(compress(column, chosen)))


def _round_robin(targets: Sequence[int], start: int) -> Router:
    position = start

    def split(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
        nonlocal position
        count = len(targets)
        first, position = position, (position + len(chunk.values)) % count
        for index, target in enumerate(targets):
            offset = (index - first) % count
            if offset < len(chunk.values):
                yield target, _select(chunk, lambda column, offset=offset: column[offset::count])

    return split


def _select(chunk: Chunk, pick: Callable[[list[Any]], list[Any]]) -> Chunk:
    return Chunk(
        pick(chunk.values),
        None if chunk.timestamps is None else pick(chunk.timestamps),
        None if chunk.keys is None else pick(chunk.keys),
    )


def no_timestamps() -> Iterator[None]:
    """Stands in for the timestamps of a chunk without any."""
    return repeat(None)
