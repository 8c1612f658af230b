"""How long a task may work in an epoch, the input that waits at its gates after that, and the task's progress.

When an operator is too slow for its input, the rest waits. The waiting input is a part of the task's state, next to the
operator's own small state, so it is restored with it: after a failure, from savepoints, and with another parallelism,
where each subtask gets its share of what waited at all earlier ones.

Progress is read by threads that inspect the task from outside. It costs a few assignments for each piece.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from time import perf_counter_ns
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

from millrace.relational.rows import count
from millrace.runtime.bases.operator import Operator, Times, times_of_groups
from millrace.runtime.clocks import is_over
from millrace.runtime.elements import MAX_WATERMARK, Chunk, Status
from millrace.runtime.exchange.codec import Mark, decode, encode
from millrace.runtime.exchange.partitioners import Broadcast, Partitioner, places_of_keys
from millrace.runtime.state.restoring.saved import EarlierState

# The time of a task

MOST_FOR_CALLS = 0.75
"""The part of a task's time by whose end its calls in flight must end, because they can't be left to the next epoch."""


class Allowance:
    """How long one task may work in an epoch. Input that is left then is processed in the next epoch.

    :param clock: gives the time in ms.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._millis: int | None = None
        self._reading = 0
        self._until: int | None = None
        self._finish: Callable[[], bool] | None = None
        self._is_over = False
        self._calls_over = False
        self._has_worked = False

    def begin(
        self,
        millis: int | None,
        finish: Callable[[], bool] | None,
        at_first_piece: bool = False,
        reading: int = 0,
    ) -> None:
        """Begin an epoch.

        :param millis: how long the task may work (ms); None: no limit.
        :param finish: returns whether the epoch must end now; called between any two pieces.
        :param at_first_piece: whether the time counts from the end of the first piece, because a new task has to import
            and connect first.
        :param reading: the part of the time for sources (ms); calls have to end in the rest.
        """
        self._millis = millis
        self._reading = reading
        self._finish = finish
        self._is_over = self._calls_over = self._has_worked = False
        self._until = None if millis is None or at_first_piece else self._clock() + millis

    def worked(self) -> None:
        """A piece is done. A task always does at least one, however little time there is."""
        self._has_worked = True
        if self._until is None and self._millis is not None:
            self._until = self._clock() + self._millis

    def end(self) -> None:
        """End the time of this epoch."""
        self._is_over = True

    def over(self) -> bool:
        """Whether nothing more may be begun in this epoch."""
        if not self._is_over:
            until = self._until if self._has_worked else None
            late = until is not None and is_over(self._clock(), until, self._millis or 0)
            self._is_over = late or (self._finish is not None and self._finish())
        return self._is_over

    def calls_over(self, wait: int, call: int) -> bool:
        """Whether no more calls may be begun in this epoch, because they would not end in it; nothing more is read
        then.

        :param wait: how long the task would wait before a call begins (ms).
        :param call: how long the call would take (ms). However long calls take, there is some time in which they may
            begin.
        """
        if not self._calls_over and self._has_worked and self._until is not None:
            most = ((self._millis or 0) - self._reading) * MOST_FOR_CALLS
            needed = self._reading + wait + min(call, int(most))
            self._calls_over = is_over(self._clock() + needed, self._until, (self._millis or 0) - needed)
        return self._calls_over or self.over()

    def reading_over(self) -> bool:
        """Whether nothing more may be read in this epoch."""
        return self._calls_over or self.over()

    def extend(self) -> None:
        """Allow the rest of the work in this epoch, because it can't wait for the next one."""
        self._millis = self._until = self._finish = None
        self._is_over = self._calls_over = False


# What waits

Channel = tuple[int, int]
"""(edge, sending subtask)"""


class Waiting(NamedTuple):
    """An item that has arrived at a gate and was not processed."""

    input: int
    channel: Channel | None
    """the channel it came over; None: from an operator in the same task"""
    content: bytes | Chunk | Mark
    """a packet, elements, or a separate mark"""

    def packed(self) -> Waiting:
        """The item with its content as a packet."""
        if isinstance(self.content, bytes):
            return self
        if isinstance(self.content, Chunk):
            return self._replace(content=encode(self.content, []))
        return self._replace(content=encode(Chunk([]), [(0, self.content)]))

    def items(self) -> Iterator[Chunk | Mark]:
        """The elements and marks in the item, in order."""
        if isinstance(self.content, bytes):
            yield from decode(self.content)
        else:
            yield self.content


def joined(items: Iterable[Waiting]) -> list[Waiting]:
    """The items in the same order, with consecutive elements of an input merged into one chunk, whatever channels they
    came over."""
    found: list[Waiting] = []
    for (input, has_elements), some in groupby(items, lambda each: (each.input, isinstance(each.content, Chunk))):
        run = list(some)
        if has_elements and len(run) > 1:
            chunks = [each.content for each in run if isinstance(each.content, Chunk)]
            values = list(chain.from_iterable(chunk.values for chunk in chunks))
            whole = Chunk(values, _all_of(chunks, "timestamps"), _all_of(chunks, "keys"))
            found.append(Waiting(input, run[0].channel, whole))
        else:
            found += run
    return found


def _all_of(chunks: Sequence[Chunk], name: str) -> list[Any] | None:
    parts = [(getattr(chunk, name), len(chunk)) for chunk in chunks]
    if all(each is None for each, _ in parts):
        return None
    return [value for each, count in parts for value in (each if each is not None else [None] * count)]


@dataclass(frozen=True)
class WithWaiting:
    """The small state of an operator, with the waiting input of its gate as packets."""

    small: Any
    waiting: tuple[Waiting, ...] = ()
    ahead: Times | None = None
    """event time of each key group (ms), if it is ahead of the watermark for some"""


def parted(small: Any) -> tuple[Any, tuple[Waiting, ...]]:
    """(small state of an operator, waiting input)."""
    return (small.small, small.waiting) if isinstance(small, WithWaiting) else (small, ())


def only_waiting(small: Any) -> Any:
    """The small state with waiting input, but without the operator's own state."""
    return replace(small, small=None) if isinstance(small, WithWaiting) else None


def without_waiting(earlier: EarlierState) -> tuple[EarlierState, list[tuple[Waiting, ...]]]:
    """The state for the operator, and the waiting input of each earlier subtask."""
    both = [parted(small) for small in earlier.smalls]
    smalls = tuple(small for small, _ in both)
    if all(small is None for small in smalls):
        smalls = ()
    return replace(earlier, smalls=smalls), [waiting for _, waiting in both]


def event_times(earlier: EarlierState, subtask: int, max_parallelism: int) -> Times | None:
    """The event time of each key group (ms) in the earlier subtasks; None: it is the watermark that the subtask starts
    at, for all of them."""
    marks = earlier.watermarks
    ahead = [small.ahead if isinstance(small, WithWaiting) else None for small in earlier.smalls]
    if not marks:  # as many as before; or another number, in a savepoint of Millrace 0.1, which has one watermark
        return ahead[subtask] if subtask < len(ahead) else None
    if len(set(marks)) == 1 and all(known is None for known in ahead):
        return None
    return times_of_groups(marks, ahead or [None] * len(marks), max_parallelism)


def share(
    waiting: Sequence[tuple[Waiting, ...]],
    subtask: int,
    parallelism: int,
    max_parallelism: int,
    partitioners: Mapping[int, Partitioner],
    channels: Collection[Channel],
) -> Iterator[Waiting]:
    """The part of the waiting input that belongs to one of the present subtasks.

    With as many subtasks as before each gets its own. Else elements go to the subtask that has their key now; elements
    without keys go to any one. Broadcast elements are those of the subtask whose broadcast state is taken over. Marks
    are then left out, and the end of the input always is: the sources send them again.

    :param waiting: waiting input of each earlier subtask.
    :param partitioners: number of an input -> its partitioner.
    :param channels: channels of the gate.
    """
    if len(waiting) == parallelism:
        yield from (kept for each in waiting[subtask] for kept in _without_ends(each, channels))
        return
    for earlier, all_of_one in enumerate(waiting):
        for each in all_of_one:
            partitioner = partitioners.get(each.input)
            for item in each.items():
                if not isinstance(item, Chunk):
                    continue
                if isinstance(partitioner, Broadcast):
                    same = earlier == subtask % len(waiting)
                    places: Iterable[tuple[int, Chunk]] = [(subtask, item)] if same else []
                else:
                    places = _places(item, partitioner, max_parallelism, parallelism) or [(earlier % parallelism, item)]
                for target, part in places:
                    if target == subtask:
                        yield Waiting(each.input, None, part).packed()


def _without_ends(waiting: Waiting, channels: Collection[Channel]) -> Iterator[Waiting]:
    known = waiting.channel in channels
    for item in waiting.items():
        if isinstance(item, Chunk) or (known and not _is_end(item)):
            yield waiting._replace(content=item).packed()


def _is_end(mark: Mark) -> bool:
    return mark is Status.FINISHED or mark == MAX_WATERMARK


def _places(
    chunk: Chunk, partitioner: Partitioner | None, max_parallelism: int, parallelism: int
) -> Iterable[tuple[int, Chunk]] | None:
    places = None if partitioner is None else partitioner.places(chunk, parallelism)
    if places is None and chunk.keys is not None:
        return places_of_keys(chunk, max_parallelism, parallelism)
    return places


# Progress


class Place(Protocol):
    """The input of an operator: its gate."""

    operator: Operator
    waiting: deque[Waiting]


class Piece(NamedTuple):
    """The piece that an operator is processing."""

    place: Place
    elements: int
    """number of elements; 0: it is processing a mark, a timer or the end of an epoch, or is reading"""
    left: int
    """number of elements of the same chunk that were not passed to it yet"""
    began: int
    """start time, by ``perf_counter_ns``"""


class Position(NamedTuple):
    """What a task is doing at one moment."""

    steps: int
    """a counter that changes whenever a piece begins or ends"""
    operator: str = ""
    """name of the working operator; empty: no operator is working"""
    subtask: int = 0
    parallelism: int = 1
    millis: int = 0
    """time since the piece began (ms)"""
    elements: int = 0
    """number of elements in the piece; 0: it is not processing elements"""
    before: int = 0
    """number of elements that wait for the operator"""
    packets: int = 0
    """number of further packets that wait, with an unknown number of elements"""


class Progress:
    """The progress of one task. The thread that runs the task writes it, any thread may read it."""

    __slots__ = ("__weakref__", "piece", "steps")

    def __init__(self) -> None:
        self.steps = 0
        self.piece: Piece | None = None

    def begin(self, place: Place, elements: int, left: int, began: int) -> Piece | None:
        """An operator gets a piece. Returns the piece that this one interrupts, for ``end``."""
        outer = self.piece
        self.steps += 1
        self.piece = Piece(place, elements, left, began)
        return outer

    def end(self, outer: Piece | None) -> None:
        """The operator has finished its piece; ``outer`` is what ``begin`` returned."""
        self.steps += 1
        self.piece = outer

    def at(self, place: Place | None) -> None:
        """The task has moved to an operator, or to none."""
        self.steps += 1
        self.piece = None if place is None else Piece(place, 0, 0, perf_counter_ns())

    def step(self) -> None:
        """Note progress outside of pieces."""
        self.steps += 1

    def runs_here(self) -> None:
        """This thread runs the task from now on."""
        _running[threading.get_ident()] = self

    def position(self) -> Position:
        """What the task is doing now."""
        steps, piece = self.steps, self.piece
        if piece is None:
            return Position(steps)
        operator = piece.place.operator
        runtime = operator.context.runtime
        elements, packets = _waiting(piece.place.waiting)
        return Position(
            steps,
            operator.context.name,
            runtime.get_index_of_this_subtask(),
            runtime.get_number_of_parallel_subtasks(),
            (perf_counter_ns() - piece.began) // 1_000_000,
            piece.elements,
            piece.left + elements + operator.kept(),
            packets,
        )


_running: WeakValueDictionary[int, Progress] = WeakValueDictionary()
"""thread identifier -> progress of the task that the thread runs, or has run"""


def running_on(thread: int) -> Progress | None:
    """The progress of the task that the thread with this identifier runs; None: it runs none."""
    return _running.get(thread)


def rests() -> None:
    """This thread runs no task."""
    _running.pop(threading.get_ident(), None)


def _waiting(waiting: Iterable[Waiting]) -> tuple[int, int]:
    """(number of waiting elements, number of other waiting packets)."""
    try:
        contents = [each.content for each in waiting]
    except RuntimeError:  # it has changed meanwhile: then the task does not stand still
        return 0, 0
    elements = sum(count(content.values) for content in contents if isinstance(content, Chunk))
    return elements, sum(isinstance(content, bytes) for content in contents)
