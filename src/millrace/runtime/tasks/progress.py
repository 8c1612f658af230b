"""How far a task is, for those who look at it from another thread. It costs a few assignments for each piece."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from time import perf_counter_ns
from typing import NamedTuple, Protocol
from weakref import WeakValueDictionary

from millrace.relational.rows import count
from millrace.runtime.bases.base import Operator
from millrace.runtime.elements import Chunk
from millrace.runtime.tasks.waiting import Waiting


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
