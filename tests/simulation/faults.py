"""What can go wrong in a simulated cluster, and when: all of it decided by one random generator."""

from __future__ import annotations

from collections import Counter
from random import Random

RATES = (0.0, 0.0, 0.01, 0.04, 0.12)
BUDGETS = (0, 1, 2, 3, 4, 6, 10)

RARE = {"user code fails": 0.2, "worker dies in user code": 0.2, "driver dies": 0.15, "driver's code fails": 0.3}
"""Faults for which there is so much opportunity that they need smaller rates."""

STEPS = (
    "abort",
    "abort, done",
    "commit",
    "commit, done",
    "delete a delta",
    "delete a delta, done",
    "delete a whole state",
    "delete a whole state, done",
    "delete all of a checkpoint",
    "delete all of a checkpoint, done",
    "delete all of a job",
    "delete all of a job, done",
    "delete all of a savepoint",
    "delete all of a savepoint, done",
    "epoch complete",
    "find splits",
    "list a job",
    "list state",
    "plan",
    "read a number",
    "read a savepoint's metadata",
    "read metadata",
    "record the end",
    "record the end, done",
    "record the job",
    "record the job, done",
    "recover",
    "recover, done",
    "release",
    "restart",
    "save the enumerator",
    "take over",
    "taken over",
    "tasks done",
    "while tasks run",
    "write a number",
    "write a number, done",
    "write a savepoint's metadata",
    "write a savepoint's metadata, done",
    "write metadata",
    "write metadata, done",
)
"""What a driver does, and may die before, as far as it touches the world."""


class DriverDied(BaseException):
    """The driver's process is gone: no handler of its own may catch this."""


class WorkerDied(BaseException):
    """A worker's process is gone, in the middle of a task."""


class DiskError(OSError):
    """A file system that does not answer."""


class UserError(Exception):
    """The user's code failed; the next time it will not."""


class Violation(BaseException):
    """The engine has broken a promise. No handler of the engine's may catch this."""


class Chances:
    """Decides which faults happen. Their number is limited, so every job ends.

    ``fatal`` is a step that the driver does not survive, when it comes to it for the so-many-th time: so every step is
    fatal in some worlds, be it ever so rare.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._rates: dict[str, float] = {}
        self.left = random.choice(BUDGETS)
        self.fatal = random.choice((None, random.choice(STEPS)))
        self._fatal_in = random.choice((1, 1, 2, 3, 5))
        self.happened: Counter[tuple[str, str]] = Counter()
        """(kind, where) -> how often"""

    def none(self) -> None:
        """Nothing goes wrong from here on."""
        self.left, self.fatal = 0, None

    def happens(self, kind: str, where: str) -> bool:
        """Whether a fault of this kind happens now. Each kind has a rate of its own, drawn when it is first met."""
        found = self._is_fatal(kind, where) or self._is_drawn(kind)
        self.happened[kind, where] += found
        return found

    def _is_fatal(self, kind: str, where: str) -> bool:
        if where != self.fatal or kind != "driver dies":
            return False
        self._fatal_in -= 1
        return self._fatal_in == 0

    def _is_drawn(self, kind: str) -> bool:
        if self.left <= 0:
            return False
        rate = self._rates.get(kind)
        if rate is None:
            rate = self._rates[kind] = self._random.choice(RATES) * RARE.get(kind, 1.0)
        if rate == 0.0 or self._random.random() >= rate:
            return False
        self.left -= 1
        return True

    @property
    def count(self) -> int:
        """How many faults there were."""
        return sum(self.happened.values())

    def had(self, *kinds: str) -> bool:
        """Whether a fault of one of these kinds has happened."""
        return any(count and kind in kinds for (kind, _), count in self.happened.items())
