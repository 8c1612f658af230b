"""Epochs that end in the middle of anything: tasks get small pieces, and are told to finish between any two of them.

with small_pieces():
    run_locally(stream, finish=now_and_then(random))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

from millrace.runtime import elements

RATES = (0.02, 0.1, 0.3)
MOST = 3


@contextmanager
def small_pieces() -> Iterator[None]:
    """Nothing gets more than three elements or rows at once."""
    with (
        patch.object(elements, "MOST_CALLED", MOST),
        patch.object(elements, "FIRST_ROWS", 1),
        patch.object(elements, "MOST_ROWS", MOST),
    ):
        yield


class Countdown:
    """Says that an epoch is to end when it is asked for the so-manieth time from now, and only then."""

    def __init__(self, left: int = 0) -> None:
        self.left = left

    def __call__(self) -> bool:
        self.left -= 1
        return self.left == 0


def now_and_then(random: Random) -> Callable[[], bool]:
    """What says that an epoch is to end now, often or seldom, from a generator of its own."""
    own = Random(random.random())
    rate = own.choice(RATES)
    return lambda: own.random() < rate
