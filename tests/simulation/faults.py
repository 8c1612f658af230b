"""What can go wrong in a simulated cluster, and when: all of it decided by one random generator."""

from __future__ import annotations

from collections import Counter
from random import Random

RATES = (0.0, 0.0, 0.01, 0.04, 0.12)
BUDGETS = (0, 1, 2, 3, 4, 6, 10)

RARE = {"user code fails": 0.2, "worker dies in user code": 0.2, "driver dies": 0.15, "driver's code fails": 0.3}
"""Faults for which there is so much opportunity that they need smaller rates."""

WRITES = ("fails", "seems to fail")
STATE = ("a delta", "a whole state", "a savepoint")

DRIVER_STEPS = (
    "abort",
    "commit",
    "delete a delta",
    "delete a whole state",
    "delete all of a checkpoint",
    "delete all of a job",
    "delete all of a savepoint",
    "delete orders",
    "record the end",
    "record the job",
    "recover",
    "sweep",
    "write a number",
    "write a savepoint's metadata",
    "write metadata",
    "write orders",
)
"""What a driver does to the world: it may die before and after."""

STEPS = (
    *DRIVER_STEPS,
    *(f"{step}, done" for step in DRIVER_STEPS),
    "epoch complete",
    "find splits",
    "list a job",
    "list state",
    "plan",
    "read a number",
    "read a savepoint's metadata",
    "read metadata",
    "release",
    "restart",
    "save the enumerator",
    "take over",
    "taken over",
    "tasks done",
    "while tasks run",
)
"""Where a driver may die."""

FAULTS = (
    *(("driver dies", step) for step in STEPS),
    *(("driver's code fails", step) for step in ("abort", "commit", "find splits", "recover", "sweep")),
    ("driver's code fails", "save the enumerator"),
    *(("driver's code fails", f"{step}, done") for step in ("abort", "commit", "recover", "sweep")),
    *(("delete fails", step) for step in DRIVER_STEPS if step.startswith("delete")),
    *((f"driver's write {fails}", step) for step in DRIVER_STEPS if step.startswith("write") for fails in WRITES),
    *(("read fails", step) for step in STEPS if step.startswith(("read", "list"))),
    *(("read fails", step) for step in ("read a delta", "read a savepoint", "read a whole state", "read orders")),
    *(("task's write fails", f"write {what}") for what in STATE),
    *(("worker dies", f"write {what}{done}") for what in STATE for done in ("", ", done")),
    ("worker dies", "before a task"),
    ("worker dies", "after a task"),
    ("answer lost", ""),
    ("output lost", ""),
    ("zombie", ""),
    ("late start", ""),
    ("user code fails", "map"),
)
"""(kind, where): what is sure to happen in some worlds, be there ever so little opportunity."""


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

    One fault is sure to come in every other world, when there is opportunity for it for the so-many-th time.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._rates: dict[str, float] = {}
        self.left = random.choice(BUDGETS)
        self.sure = random.choice((None, random.choice(FAULTS)))
        self._sure_in = random.choice((1, 1, 1, 2, 3, 5, 8, 13))
        self.happened: Counter[tuple[str, str]] = Counter()
        """(kind, where) -> how often"""

    def expect(self, fault: tuple[str, str]) -> None:
        """This one is sure to come at the first opportunity."""
        self.sure, self._sure_in = fault, 1

    def none(self) -> None:
        """Nothing goes wrong from here on."""
        self.left, self.sure = 0, None

    def happens(self, kind: str, where: str) -> bool:
        """Whether a fault of this kind happens now. Each kind has a rate of its own, drawn when it is first met."""
        found = self._is_sure(kind, where) or self._is_drawn(kind)
        self.happened[kind, where] += found
        return found

    def _is_sure(self, kind: str, where: str) -> bool:
        if (kind, where) != self.sure:
            return False
        self._sure_in -= 1
        return self._sure_in == 0

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
