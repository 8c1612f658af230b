"""Decides which subtasks of the next operator an element goes to.

A partitioner is a frozen description; ``router`` makes the function that one sending subtask uses. A router splits
whole chunks: never a Python call per element where slices do. An ``ElementWise`` partitioner can also choose the target
at once and split later: a ``Scatter`` cuts the elements gathered for many receivers in one pass, however small their
chunks were. ``TaggedHash`` marks the two sides of a window join on their way into one window operator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, pairwise, repeat
from operator import index, length_hint
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millrace.common import functions
from millrace.common.functions import Function, KeySelector
from millrace.common.typeinfo import TypeInformation
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.keys import (
    UnstableKeyError,
    column_hashes,
    hashable,
    stable_hash,
    subtasks_of,
    unhashable,
)
from millrace.runtime.failure import check_complete

# Scattering elements

Targets = np.ndarray[Any, np.dtype[np.uint16]]
"""the target subtask of each element, as uint16: there are never more than 32768"""
Numbers = np.ndarray[Any, np.dtype[np.int32]]


class Scatter(ABC):
    """How a list of elements is distributed over ``targets``."""

    def __init__(self, targets: Sequence[int], counts: list[int]) -> None:
        self.targets = targets
        self.counts = counts
        """number of elements for each target"""

    @abstractmethod
    def together(self, numbers: Numbers) -> Numbers:
        """Reorder a number per element: those for the first target's elements, then those for the second's, and so
        on.
        """

    @abstractmethod
    def split(self, column: list[Any]) -> list[list[Any]]:
        """The values of a column for each target, in order."""


FEW = 32
"""Up to this number of elements NumPy is slower than lists."""


class InOrderOfTargets(Scatter):
    """Each element has a target of its own."""

    def __init__(self, targets: Sequence[int], assigned: Targets) -> None:
        self._few: list[int] | None = None
        """the target of each element, if there are few"""
        if len(assigned) <= FEW:
            self._few = few = assigned.tolist()
            counts = [0] * len(targets)
            for target in few:
                counts[target] += 1
            super().__init__(targets, counts)
        else:
            super().__init__(targets, np.bincount(assigned, minlength=len(targets)).tolist())
        self._assigned = assigned

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        # Of short integers this is a radix sort.
        return np.argsort(self._assigned, kind="stable")

    def together(self, numbers: Numbers) -> Numbers:
        return numbers[self._order]

    def split(self, column: list[Any]) -> list[list[Any]]:
        if self._few is not None:
            found = [column[:0] for _ in self.targets]
            for value, target in zip(column, self._few):
                found[target].append(value)
            return found
        ordered = np.fromiter(column, object, len(column))[self._order].tolist()
        ends = np.cumsum([0, *self.counts]).tolist()
        return [ordered[start:end] for start, end in pairwise(ends)]


class InTurn(Scatter):
    """Elements go to the targets in turn, beginning with the target at index ``first``."""

    def __init__(self, targets: Sequence[int], first: int, length: int) -> None:
        width = len(targets)
        self._starts = [(place - first) % width for place in range(width)]
        super().__init__(targets, [(length - start + width - 1) // width for start in self._starts])

    def together(self, numbers: Numbers) -> Numbers:
        width = len(self.targets)
        return np.concatenate([numbers[start::width] for start in self._starts])

    def split(self, column: list[Any]) -> list[list[Any]]:
        width = len(self.targets)
        return [column[start::width] for start in self._starts]


class Assigner(ABC):
    """Chooses the targets of the elements of one chunk after the other, and then describes all of them as one
    ``Scatter``."""

    @abstractmethod
    def assign(self, chunk: Chunk) -> Chunk:
        """Choose the targets of a chunk's elements. Returns the chunk, with keys if the elements have any."""

    @abstractmethod
    def scatter(self, gathered: Chunk) -> Scatter:
        """The distribution of all elements that were assigned since the last call.

        :param gathered: these elements as one chunk.
        """


class AssignEach(Assigner):
    """Chooses targets by a function of a chunk."""

    def __init__(self, targets: Sequence[int], choose: Callable[[Chunk], tuple[Chunk, Targets]]) -> None:
        self._targets = targets
        self._choose = choose
        self._assigned: list[Targets] = []

    def assign(self, chunk: Chunk) -> Chunk:
        chunk, targets = self._choose(chunk)
        self._assigned.append(targets)
        return chunk

    def scatter(self, gathered: Chunk) -> Scatter:
        assigned, self._assigned = self._assigned, []
        return InOrderOfTargets(self._targets, np.concatenate(assigned) if assigned else np.empty(0, np.uint16))


class AssignInTurn(Assigner):
    """Chooses targets in turn (round robin); with one target all elements go there."""

    def __init__(self, targets: Sequence[int], first: int = 0) -> None:
        self._targets = targets
        self._first = first
        self._length = 0

    def assign(self, chunk: Chunk) -> Chunk:
        self._length += len(chunk.values)
        return chunk

    def scatter(self, gathered: Chunk) -> Scatter:
        length, self._length = self._length, 0
        first = self._first
        self._first = (first + length) % len(self._targets)
        return InTurn(self._targets, first, length)


def parts(chunk: Chunk, scatter: Scatter) -> Iterator[Chunk]:
    """The part of a chunk for each target, in their order."""
    timestamps = repeat(None) if chunk.timestamps is None else scatter.split(chunk.timestamps)
    keys = repeat(None) if chunk.keys is None else scatter.split(chunk.keys)
    return map(Chunk, scatter.split(chunk.values), timestamps, keys)


# Subtasks of a chunk of keys

AT_ONCE = 8_192
"""The number of keys that are looked up at once: known keys are in the processor's cache after the first thousands, and
new keys are remembered only while they are few."""
_UNKNOWN = 0xFFFF
"""stands for an unknown subtask: there are no more than 32768"""


class BadKeyError(Exception):
    """A key cannot be hashed; the cause is its error."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class KeyTargets:
    """Maps keys to subtasks, and remembers up to ``LIMIT`` keys.

    When there are too many it forgets all of them, but only at every eighth chunk that exceeds the limit: if keys
    rarely come again, remembering them costs more than it gains.
    """

    LIMIT = 65_536
    PATIENCE = 8

    def __init__(self, max_parallelism: int, parallelism: int) -> None:
        self._max_parallelism = max_parallelism
        self._parallelism = parallelism
        self._known: dict[Any, int] = {}
        self._too_many = 0

    def of(self, keys: list[Any]) -> Targets:
        """The subtask of each key.

        :raises BadKeyError: a key has no stable hash.
        """
        if len(keys) <= AT_ONCE:
            return self._of_some(keys)
        found = []
        for start in range(0, len(keys), AT_ONCE):
            try:
                found.append(self._of_some(keys[start : start + AT_ONCE]))
            except BadKeyError as error:
                raise BadKeyError(start + error.position) from error.__cause__
        return np.concatenate(found)

    def _of_some(self, keys: list[Any]) -> Targets:
        remaining = iter(keys)
        try:
            if len(keys) <= FEW:
                few = [self._known.get(key, _UNKNOWN) for key in remaining]
                if _UNKNOWN not in few:
                    return np.array(few, np.uint16)
                remaining = iter(keys)
            known = map(self._known.get, remaining, repeat(_UNKNOWN))
            found: Targets = np.fromiter(known, np.uint16, len(keys))
        except Exception as error:
            position = len(keys) - length_hint(remaining) - 1
            raise BadKeyError(position) from unhashable(keys[position], error)
        unknown = found == _UNKNOWN
        if unknown.any():
            found[unknown] = self._learn(list(compress(keys, unknown.tolist())), keys)
        return found

    def _learn(self, new: list[Any], keys: list[Any]) -> Targets:
        hashes = column_hashes(new)
        if hashes is None:
            return self._learn_each(new, keys)
        targets = subtasks_of(hashes, self._max_parallelism, self._parallelism)
        self._remember(new, targets.tolist())
        return targets.astype(np.uint16)

    def _learn_each(self, new: list[Any], keys: list[Any]) -> Targets:
        distinct = list(dict.fromkeys(new))
        remaining = iter(distinct)
        try:
            hashes = np.fromiter(map(stable_hash, remaining), np.uint64, len(distinct))
        except Exception as error:
            bad = distinct[len(distinct) - length_hint(remaining) - 1]
            position = next(place for place, key in enumerate(keys) if key is bad)
            raise BadKeyError(position) from (error if isinstance(error, UnstableKeyError) else unhashable(bad, error))
        targets = subtasks_of(hashes, self._max_parallelism, self._parallelism)
        learned = dict(zip(distinct, targets.tolist()))
        self._remember(learned.keys(), learned.values())
        return np.fromiter(map(learned.__getitem__, new), np.uint16, len(new))

    def _remember(self, keys: Collection[Any], targets: Iterable[int]) -> None:
        if len(self._known) + len(keys) > self.LIMIT:
            self._too_many += 1
            if self._too_many % self.PATIENCE or len(keys) > self.LIMIT:
                return
            self._known.clear()
        self._known.update(zip(keys, targets))


# Partitioners

Router = Callable[[Chunk], Iterator[tuple[int, Chunk]]]
"""Splits a chunk into (target subtask, its part), elements in order within a part."""


class PartitioningError(Exception):
    """The user's key selector or partitioner failed on an element; the text says where: ``in the key selector``.

    ``origin`` is the user's call with its file:line, if it is known.
    """

    def __init__(self, element: Any, what: str, origin: str = "") -> None:
        super().__init__(what)
        self.element = element
        self.origin = origin


@dataclass(frozen=True)
class Partitioner(ABC):
    """How the elements of an edge are distributed over the receivers."""

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
        """The receivers of elements that were sent when there was another number of receivers; None: any receiver will
        do."""
        return None

    def groups(self, chunk: Chunk) -> Iterator[tuple[int, Chunk]] | None:
        """The key groups of elements that were sent by their keys; None: they were not sent by keys."""
        return None

    def targets(self, subtask: int, senders: int, receivers: int) -> Sequence[int]:
        """The receivers that this sender can reach: all of them get its watermarks."""
        return range(receivers)

    def sources(self, subtask: int, senders: int, receivers: int) -> list[int]:
        """The senders that can reach this receiver: its channels."""
        return [sender for sender in range(senders) if subtask in self.targets(sender, senders, receivers)]


class ElementWise(Partitioner):
    """A partitioner that sends each element to one receiver."""

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
        # The elements have their keys, and only the senders have opened the key selector.
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
    """Sends elements, with their keys, to the subtasks of the keys."""

    def __init__(self, partitioner: Hash, receivers: int) -> None:
        self._partitioner = partitioner
        self._receivers = range(receivers)
        self._key_targets = KeyTargets(partitioner.max_parallelism, receivers)

    def assign(self, chunk: Chunk) -> Chunk:
        return Chunk(chunk.values, chunk.timestamps, self._partitioner.keys(chunk))

    def scatter(self, gathered: Chunk) -> Scatter:
        # All keys at once: between small chunks the processor's cache would lose the known keys.
        targets = _targets(self._key_targets, gathered.keys or [], gathered.values, self._partitioner.origin)
        return InOrderOfTargets(self._receivers, targets)


class _ToTheOnlyOne(AssignInTurn):
    """Sends elements, with their keys, to a single receiver."""

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
    """The key selector and partitioner objects that own these methods; plain callables have none."""
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


# The two sides of a window join


@dataclass(frozen=True)
class TaggedHash(Hash):
    """Distributes (tag, element) pairs of a window join by the key of the element."""

    tag: int = 0

    def assigner(self, subtask: int, senders: int, receivers: int) -> Assigner:
        return _Tagging(super().assigner(subtask, senders, receivers), self.tag)


class _Tagging(Assigner):
    def __init__(self, untagged: Assigner, tag: int) -> None:
        self._untagged = untagged
        self._tag = tag

    def assign(self, chunk: Chunk) -> Chunk:
        assigned = self._untagged.assign(chunk)
        return Chunk(list(zip(repeat(self._tag), assigned.values)), assigned.timestamps, assigned.keys)

    def scatter(self, gathered: Chunk) -> Scatter:
        try:
            return self._untagged.scatter(gathered)
        except PartitioningError as error:
            _, element = error.element
            raise PartitioningError(element, str(error), error.origin) from error.__cause__
