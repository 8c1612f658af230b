"""What operators and tasks took for an epoch, in microseconds of the wall clock."""

from __future__ import annotations

from typing import NamedTuple


class OperatorTimes(NamedTuple):
    """One operator in one task."""

    work: int = 0
    """in its code and the user's, and what they wait for"""
    sort: int = 0
    """sorting what it emits by receiver, and packing it"""
    write: int = 0
    """waiting until packets are taken"""


class TaskTimes(NamedTuple):
    """A task as a whole, beyond its operators."""

    read: int = 0
    """waiting for the packets of the stage before, and reading them"""
    passing: int = 0
    """handing on what is for later stages"""
    record: int = 0
    """writing state"""
    wait: int = 0
    """sources that had nothing to read"""
    other: int = 0
    pressed: int | None = None
    """of a task in flow: waiting for credit"""
    pools: tuple[float, float] | None = None
    """of a task in flow: how full its inboxes and its outboxes were, 0 to 1"""
