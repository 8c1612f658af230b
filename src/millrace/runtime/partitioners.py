"""Which subtasks of the next operator an element goes to.

A partitioner is a frozen description; ``router`` makes the function that one sending subtask uses. A router
splits whole chunks: never a Python call per element where slices do.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from operator import index, itemgetter, length_hint
from typing import Any

from millrace.datastream import functions
from millrace.datastream.functions import Function, KeySelector
from millrace.runtime.elements import Chunk
from millrace.runtime.failure import check_complete
from millrace.runtime.keygroups import KeyTargets, UnstableKeyError, unhashable

Router = Callable[[Chunk], Iterator[tuple[int, Chunk]]]
"""Splits a chunk into (target subtask, its part), elements in order within a part."""


class PartitioningError(Exception):
    """The user's key selector or partitioner failed on an element; the text says which: ``in the key selector``.

    ``origin`` is the user's call with its file:line, if it is known.
    """

    def __init__(self, element: Any, what: str, origin: str = "") -> None:
        super().__init__(what)
        self.element = element
        self.origin = origin


@dataclass(frozen=True)
class Partitioner(ABC):
    """How the elements of an edge are spread."""

    ship_strategy = ""
    """Flink's name in the plan JSON."""
    pointwise = False
    """Whether a sender reaches only some receivers."""

    @abstractmethod
    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        """The splitting function of one sending subtask, for the life of its task."""

    def functions(self) -> tuple[Function, ...]:
        """The user's function objects that it calls: each sending task opens and closes them."""
        return ()

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
    origin: str = ""
    """the user's call of partition_custom, with its file:line"""
    ship_strategy = "CUSTOM"

    def functions(self) -> tuple[Function, ...]:
        return _objects_of(self.partition, self.key_selector)

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        def target_of(value: Any) -> int:
            target = self.partition(self.key_selector(value), receivers)
            if not hasattr(target, "__index__") or not 0 <= target < receivers:
                raise ValueError(f"the partitioner answered {target!r}, which is not an int in 0..{receivers - 1}")
            return index(target)

        def split(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
            targets = each(target_of, chunk.values, "in the partitioner", self.origin)
            return _split_by_target(chunk, targets, receivers)

        return split


@dataclass(frozen=True)
class Hash(Partitioner):
    """By the key group of the element's key; the keys travel with the elements."""

    key_selector: Callable[[Any], Any]
    max_parallelism: int = 128
    origin: str = ""
    """the user's call of key_by, with its file:line"""
    ship_strategy = "HASH"

    def functions(self) -> tuple[Function, ...]:
        return _objects_of(self.key_selector)

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        target_of = KeyTargets(self.max_parallelism, receivers)
        origin = self.origin

        def split(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
            keys = each(self.key_selector, chunk.values, "in the key selector", origin)
            keyed = Chunk(chunk.values, chunk.timestamps, keys)
            if receivers == 1:
                # A key without a stable hash must not work here and fail after a rescale.
                _targets(target_of, keys[:1], chunk.values, origin)
                return iter([(0, keyed)])
            return _split_by_target(keyed, _targets(target_of, keys, chunk.values, origin), receivers)

        return split


def _objects_of(*methods: Callable[..., Any]) -> tuple[Function, ...]:
    """The key selectors and partitioners whose methods these are; plain callables have none."""
    objects = (getattr(method, "__self__", None) for method in methods)
    return tuple(found for found in objects if isinstance(found, (KeySelector, functions.Partitioner)))


def each(function: Callable[[Any], Any], values: list[Any], what: str, origin: str = "") -> list[Any]:
    """``[function(v) for v in values]``, with the failing element in the error."""
    remaining = iter(values)
    try:
        results = list(map(function, remaining))
        check_complete(results, values)
        return results
    except Exception as error:
        element = values[len(values) - length_hint(remaining) - 1]
        raise PartitioningError(element, what, origin) from error


def _targets(target_of: KeyTargets, keys: list[Any], values: list[Any], origin: str) -> list[int]:
    """The subtask of every key; an error shows the element, not only its key."""
    remaining = iter(keys)
    try:
        return list(map(target_of.__getitem__, remaining))
    except Exception as error:
        position = len(keys) - length_hint(remaining) - 1
        cause = error if isinstance(error, UnstableKeyError) else unhashable(keys[position], error)
        raise PartitioningError(values[position], "to hash the key", origin) from cause


def _split_by_target(chunk: Chunk, targets: list[int], receivers: int) -> Iterator[tuple[int, Chunk]]:
    for target in range(receivers):
        chosen = list(map(target.__eq__, targets))
        if True in chosen:
            yield target, _select(chunk, partial(_chosen, chosen))


def _chosen(selectors: list[bool], column: list[Any]) -> list[Any]:
    return list(compress(column, selectors))


def _round_robin(targets: Sequence[int], start: int) -> Router:
    position = start

    def split(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
        nonlocal position
        count = len(targets)
        first, position = position, (position + len(chunk.values)) % count
        for place, target in enumerate(targets):
            offset = (place - first) % count
            if offset < len(chunk.values):
                yield target, _select(chunk, itemgetter(slice(offset, None, count)))

    return split


def _select(chunk: Chunk, pick: Callable[[list[Any]], list[Any]]) -> Chunk:
    return Chunk(
        pick(chunk.values),
        None if chunk.timestamps is None else pick(chunk.timestamps),
        None if chunk.keys is None else pick(chunk.keys),
    )
