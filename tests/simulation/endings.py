"""Epochs that end in the middle of something, polls that give much at a time, and the time that pieces take.

All of it is drawn from a generator of its own, and in many worlds nothing of it happens: so what else a seed decides
stays as it was before there were pieces.
"""

from __future__ import annotations

from random import Random

RATES = (0.0, 0.0, 0.0, 0.03, 0.15, 0.4)
BUDGETS = (5, 20, 40)
"""How many epochs of tasks have to end: the jobs of a world shall not take long."""
MOST_AT_ONCE = (2, 5, 12)
NANOSECONDS = (0, 0, 3_000_000, 8_000_000, 25_000_000)
"""What passes from one look at the clock to the next: a piece shall take 10 ms."""


class Endings:
    """One world's."""

    def __init__(self, seed: int) -> None:
        self._random = random = Random(f"{seed}: endings")
        self._rate = random.choice(RATES)
        self._most = random.choice(MOST_AT_ONCE) if self._rate else 1
        self._left = random.choice(BUDGETS)
        self._now = 0
        self.happened = 0
        """epochs of tasks that had to end"""

    def forbid(self) -> None:
        """From here on epochs end when all is done."""
        self._rate, self._most = 0.0, 1

    def finish(self) -> bool:
        """Whether the epoch of a task is to end now."""
        ends = self._left > 0 and self._rate > 0.0 and self._random.random() < self._rate
        self.happened += ends
        self._left -= ends
        return ends

    def at_once(self) -> int:
        """How many records the next poll gives at most."""
        return 1 if self._most == 1 else self._random.randint(1, self._most)

    def clock(self) -> int:
        """In the place of ``perf_counter_ns``."""
        if self._rate:
            self._now += self._random.choice(NANOSECONDS)
        return self._now
