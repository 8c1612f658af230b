"""How long a task may work in an epoch, what waits at its gates when that time is over, and how far the task is.

A function was too slow for what waits. That is a part of the task's state: it stands beside the operator's own small
state, and so comes back wherever that does: after a failure, from savepoints, and with another parallelism, where each
subtask finds its share of what all earlier ones had.

Progress is for threads that look at the task from outside. It costs a few assignments for each piece.
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
"""The part of a task's time at whose end calls end that it has begun: it can't leave them to the next epoch."""


class Allowance:
    """The time of one task, epoch after epoch. What is left when it is over is done in the next epoch.

    :param clock: in ms.
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
        """An epoch begins.

        :param millis: how long the task may work (ms); None: as long as there is something to do.
        :param finish: says whether the epoch is to end now; it is asked between any two pieces.
        :param at_first_piece: the time begins when the first piece is done: a task that is new imports and connects.
        :param reading: the part of it that sources have (ms); calls have to end in the rest.
        """
        self._millis = millis
        self._reading = reading
        self._finish = finish
        self._is_over = self._calls_over = self._has_worked = False
        self._until = None if millis is None or at_first_piece else self._clock() + millis

    def worked(self) -> None:
        """A piece is done: however little time there is, a task does one."""
        self._has_worked = True
        if self._until is None and self._millis is not None:
            self._until = self._clock() + self._millis

    def end(self) -> None:
        """It is over now."""
        self._is_over = True

    def over(self) -> bool:
        """Whether nothing more is to be begun in this epoch."""
        if not self._is_over:
            until = self._until if self._has_worked else None
            late = until is not None and is_over(self._clock(), until, self._millis or 0)
            self._is_over = late or (self._finish is not None and self._finish())
        return self._is_over

    def calls_over(self, wait: int, call: int) -> bool:
        """Whether no more calls are to be begun in this epoch, since they would not end in it; nothing more is read
        then.

        :param wait: how long the task would wait for a call to begin (ms).
        :param call: how long that would take (ms). However long calls take, a part of the time is there to begin some.
        """
        if not self._calls_over and self._has_worked and self._until is not None:
            most = ((self._millis or 0) - self._reading) * MOST_FOR_CALLS
            needed = self._reading + wait + min(call, int(most))
            self._calls_over = is_over(self._clock() + needed, self._until, (self._millis or 0) - needed)
        return self._calls_over or self.over()

    def reading_over(self) -> bool:
        """Whether nothing more is to be read in this epoch."""
        return self._calls_over or self.over()

    def extend(self) -> None:
        """What can't wait for the next epoch is done in this one."""
        self._millis = self._until = self._finish = None
        self._is_over = self._calls_over = False


# What waits

Channel = tuple[int, int]
"""(edge, sending subtask)"""


class Waiting(NamedTuple):
    """What has arrived at a gate and was not handed on."""

    input: int
    channel: Channel | None
    """None for elements of the same task"""
    content: bytes | Chunk | Mark
    """a packet, or elements, or a mark that came by itself"""

    def packed(self) -> Waiting:
        """The same as a packet."""
        if isinstance(self.content, bytes):
            return self
        if isinstance(self.content, Chunk):
            return self._replace(content=encode(self.content, []))
        return self._replace(content=encode(Chunk([]), [(0, self.content)]))

    def items(self) -> Iterator[Chunk | Mark]:
        """The elements and marks, in order."""
        if isinstance(self.content, bytes):
            yield from decode(self.content)
        else:
            yield self.content


def joined(items: Iterable[Waiting]) -> list[Waiting]:
    """The same in the same order, with one chunk of elements that follow each other, whatever channels of an input
    they came over."""
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
    """The small state of an operator, and what waits at its gate as packets."""

    small: Any
    waiting: tuple[Waiting, ...] = ()
    ahead: Times | None = None
    """how far event time was for each key group, if that is further than it is"""


def parted(small: Any) -> tuple[Any, tuple[Waiting, ...]]:
    """The small state of an operator, and what waits."""
    return (small.small, small.waiting) if isinstance(small, WithWaiting) else (small, ())


def only_waiting(small: Any) -> Any:
    """The same without the operator's own state."""
    return replace(small, small=None) if isinstance(small, WithWaiting) else None


def without_waiting(earlier: EarlierState) -> tuple[EarlierState, list[tuple[Waiting, ...]]]:
    """The state for the operator, and what waited at each of the earlier subtasks."""
    both = [parted(small) for small in earlier.smalls]
    smalls = tuple(small for small, _ in both)
    if all(small is None for small in smalls):
        smalls = ()
    return replace(earlier, smalls=smalls), [waiting for _, waiting in both]


def event_times(earlier: EarlierState, subtask: int, max_parallelism: int) -> Times | None:
    """How far event time was for each key group in the earlier subtasks; None: for all of them as far as the subtask
    begins."""
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
    """What of it belongs to one of the subtasks that there are now.

    With as many subtasks as before each has its own. Else elements go where their keys are now; those without keys to
    any one, and of what all subtasks get what the one had whose broadcast state they get. Marks stay out then, as the
    end of the input does in any case: the sources say again how far they are.

    :param waiting: of each earlier subtask.
    :param partitioners: number of an input -> how its elements are spread.
    :param channels: those of the gate.
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
    """The input of an operator."""

    operator: Operator
    waiting: deque[Waiting]


class Piece(NamedTuple):
    """What an operator is at."""

    place: Place
    elements: int
    """0: it was given no elements, but a mark, a time, the end of an epoch, or is to read"""
    left: int
    """elements that came with it and are not handed on"""
    began: int
    """by ``perf_counter_ns``"""


class Position(NamedTuple):
    """Where a task is at one moment."""

    steps: int
    """changes whenever a piece begins or ends"""
    operator: str = ""
    """its name; empty: no operator is at work"""
    subtask: int = 0
    parallelism: int = 1
    millis: int = 0
    """since the piece began"""
    elements: int = 0
    """of the piece; 0: it is at something else than elements"""
    before: int = 0
    """elements that wait to be handed to it"""
    packets: int = 0
    """packets that wait beside these; nobody knows yet how many elements are in them"""


class Progress:
    """Of one task. Written by the thread that runs it, read by any."""

    __slots__ = ("__weakref__", "piece", "steps")

    def __init__(self) -> None:
        self.steps = 0
        self.piece: Piece | None = None

    def begin(self, place: Place, elements: int, left: int, began: int) -> Piece | None:
        """An operator gets a piece; the one that it is a part of, for ``end``."""
        outer = self.piece
        self.steps += 1
        self.piece = Piece(place, elements, left, began)
        return outer

    def end(self, outer: Piece | None) -> None:
        """It has done it."""
        self.steps += 1
        self.piece = outer

    def at(self, place: Place | None) -> None:
        """The task has come to an operator, or to none."""
        self.steps += 1
        self.piece = None if place is None else Piece(place, 0, 0, perf_counter_ns())

    def step(self) -> None:
        """Something else has gone on."""
        self.steps += 1

    def runs_here(self) -> None:
        """This thread runs the task from now on."""
        _running[threading.get_ident()] = self

    def position(self) -> Position:
        """Where it is now."""
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
"""identifier of a thread -> the task that it runs, or has run"""


def running_on(thread: int) -> Progress | None:
    """The task that the thread with this identifier runs."""
    return _running.get(thread)


def rests() -> None:
    """This thread runs no task."""
    _running.pop(threading.get_ident(), None)


def _waiting(waiting: Iterable[Waiting]) -> tuple[int, int]:
    """How many elements, and how many packets beside them."""
    try:
        contents = [each.content for each in waiting]
    except RuntimeError:  # it has changed meanwhile: then the task does not stand still
        return 0, 0
    elements = sum(count(content.values) for content in contents if isinstance(content, Chunk))
    return elements, sum(isinstance(content, bytes) for content in contents)
