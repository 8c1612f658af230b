"""Which subtasks of the next operator an element goes to.

A partitioner is a frozen description; ``router`` makes the function that one sending subtask uses. A router
splits whole chunks: never a Python call per element where slices do. An ``ElementWise`` partitioner also chooses now
and splits later: what a sender has gathered for many receivers is split in one pass, however small its chunks were.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import index, length_hint
from typing import Any

import numpy as np

from millrace.common import functions
from millrace.common.functions import Function, KeySelector
from millrace.common.typeinfo import TypeInformation
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.key_targets import BadKeyError, KeyTargets
from millrace.runtime.exchange.mutable_keys import hashable
from millrace.runtime.exchange.scatter import (
    AssignEach,
    Assigner,
    AssignInTurn,
    InOrderOfTargets,
    Scatter,
    Targets,
    parts,
)
from millrace.runtime.failure import check_complete

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

    def places(self, chunk: Chunk, receivers: int) -> Iterator[tuple[int, Chunk]] | None:
        """The receivers of elements that were sent to one of another number of receivers; None: any will do."""
        return None

    def groups(self, chunk: Chunk) -> Iterator[tuple[int, Chunk]] | None:
        """The key groups of elements that were sent by their keys; None: by something else."""
        return None

    def targets(self, subtask: int, senders: int, receivers: int) -> Sequence[int]:
        """The receivers that this sender may reach: they all get its watermarks."""
        return range(receivers)

    def sources(self, subtask: int, senders: int, receivers: int) -> list[int]:
        """The senders that may reach this receiver: its channels."""
        return [sender for sender in range(senders) if subtask in self.targets(sender, senders, receivers)]


class ElementWise(Partitioner):
    """Each element goes to one receiver of its own."""

    @abstractmethod
    def assigner(self, subtask: int, senders: int, receivers: int) -> Assigner:
        """Chooses the receivers for one sending subtask, for the life of its task."""

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        assigner = self.assigner(subtask, senders, receivers)

        def split(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
            assigned = assigner.assign(chunk)
            scatter = assigner.scatter(assigned)
            return ((target, part) for target, part in zip(scatter.targets, parts(assigned, scatter)) if part.values)

        return split


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
class Rebalance(ElementWise):
    """Round robin over all receivers."""

    ship_strategy = "REBALANCE"

    def assigner(self, subtask: int, senders: int, receivers: int) -> Assigner:
        return AssignInTurn(range(receivers), first=subtask)


@dataclass(frozen=True)
class Rescale(ElementWise):
    """Round robin over the receivers that belong to this sender: less network, but local imbalance stays."""

    ship_strategy = "RESCALE"
    pointwise = True

    def assigner(self, subtask: int, senders: int, receivers: int) -> Assigner:
        return AssignInTurn(self.targets(subtask, senders, receivers))

    def targets(self, subtask: int, senders: int, receivers: int) -> Sequence[int]:
        if receivers >= senders:
            return range(subtask * receivers // senders, (subtask + 1) * receivers // senders)
        return (subtask * receivers // senders,)


@dataclass(frozen=True)
class Shuffle(ElementWise):
    """Each element to a receiver drawn at random."""

    ship_strategy = "SHUFFLE"

    def assigner(self, subtask: int, senders: int, receivers: int) -> Assigner:
        draw = np.random.default_rng(subtask)

        def choose(chunk: Chunk) -> tuple[Chunk, Targets]:
            return chunk, draw.integers(0, receivers, len(chunk.values), np.uint16)

        return AssignEach(range(receivers), choose)


@dataclass(frozen=True)
class Global(Partitioner):
    """Everything to subtask 0."""

    ship_strategy = "GLOBAL"

    def places(self, chunk: Chunk, receivers: int) -> Iterator[tuple[int, Chunk]]:
        return iter([(0, chunk)])

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        return lambda chunk: iter([(0, chunk)])


@dataclass(frozen=True)
class Broadcast(Partitioner):
    """Every element to every receiver."""

    ship_strategy = "BROADCAST"

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        return lambda chunk: ((target, chunk) for target in range(receivers))


@dataclass(frozen=True)
class Custom(ElementWise):
    """The user's function (key, number of receivers) -> receiver."""

    partition: Callable[[Any, int], int]
    key_selector: Callable[[Any], Any]
    origin: str = ""
    """the user's call of partition_custom, with its file:line"""
    ship_strategy = "CUSTOM"

    def functions(self) -> tuple[Function, ...]:
        return _objects_of(self.partition, self.key_selector)

    def places(self, chunk: Chunk, receivers: int) -> Iterator[tuple[int, Chunk]]:
        return self.router(0, 1, receivers)(chunk)

    def assigner(self, subtask: int, senders: int, receivers: int) -> Assigner:
        def target_of(value: Any) -> int:
            target = self.partition(self.key_selector(value), receivers)
            if not hasattr(target, "__index__") or not 0 <= target < receivers:
                raise ValueError(f"the partitioner answered {target!r}, which is not an int in 0..{receivers - 1}")
            return index(target)

        def choose(chunk: Chunk) -> tuple[Chunk, Targets]:
            targets = each(target_of, chunk.values, "in the partitioner", self.origin)
            return chunk, np.fromiter(targets, np.uint16, len(targets))

        return AssignEach(range(receivers), choose)


@dataclass(frozen=True)
class Hash(ElementWise):
    """By the key group of the element's key; the keys travel with the elements."""

    key_selector: Callable[[Any], Any]
    max_parallelism: int = 128
    origin: str = ""
    """the user's call of key_by, with its file:line"""
    key_type: TypeInformation | None = None
    """the type of the keys, as far as it is known"""
    ship_strategy = "HASH"

    def functions(self) -> tuple[Function, ...]:
        return _objects_of(self.key_selector)

    def assigner(self, subtask: int, senders: int, receivers: int) -> Assigner:
        if receivers == 1:
            return _ToTheOnlyOne(self)
        return _ByKeys(self, receivers)

    def places(self, chunk: Chunk, receivers: int) -> Iterator[tuple[int, Chunk]]:
        # They have their keys, and the key selector was opened by the senders only.
        return places_of_keys(chunk, self.max_parallelism, receivers)

    def groups(self, chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
        return self.places(chunk, self.max_parallelism)

    def keys(self, chunk: Chunk) -> list[Any]:
        """The keys of a chunk's elements."""
        return hashable(each(self.key_selector, chunk.values, "in the key selector", self.origin))


def places_of_keys(chunk: Chunk, max_parallelism: int, receivers: int) -> Iterator[tuple[int, Chunk]]:
    """The receivers of elements that have keys."""
    targets = KeyTargets(max_parallelism, receivers).of(chunk.keys or [])
    scatter = InOrderOfTargets(range(receivers), targets)
    return ((target, part) for target, part in zip(scatter.targets, parts(chunk, scatter)) if part.values)


class _ByKeys(Assigner):
    """Elements with their keys, to the subtasks that these belong to."""

    def __init__(self, partitioner: Hash, receivers: int) -> None:
        self._partitioner = partitioner
        self._receivers = range(receivers)
        self._key_targets = KeyTargets(partitioner.max_parallelism, receivers)

    def assign(self, chunk: Chunk) -> Chunk:
        return Chunk(chunk.values, chunk.timestamps, self._partitioner.keys(chunk))

    def scatter(self, gathered: Chunk) -> Scatter:
        # All at once: between any two small chunks the processor's cache loses what is known of keys.
        targets = _targets(self._key_targets, gathered.keys or [], gathered.values, self._partitioner.origin)
        return InOrderOfTargets(self._receivers, targets)


class _ToTheOnlyOne(AssignInTurn):
    """Elements with their keys, to a single receiver."""

    def __init__(self, partitioner: Hash) -> None:
        super().__init__(range(1))
        self._partitioner = partitioner
        self._key_targets = KeyTargets(partitioner.max_parallelism, 1)

    def assign(self, chunk: Chunk) -> Chunk:
        keys = self._partitioner.keys(chunk)
        # A key without a stable hash must not work here and fail after a rescale.
        _targets(self._key_targets, keys[:1], chunk.values, self._partitioner.origin)
        return super().assign(Chunk(chunk.values, chunk.timestamps, keys))


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


def _targets(key_targets: KeyTargets, keys: list[Any], values: list[Any], origin: str) -> Targets:
    """The subtask of every key; an error shows the element, not only its key."""
    try:
        return key_targets.of(keys)
    except BadKeyError as error:
        raise PartitioningError(values[error.position], "to hash the key", origin) from error.__cause__
