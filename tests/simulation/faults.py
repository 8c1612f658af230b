"""What can go wrong in a simulated cluster, and when: all of it decided by one random generator."""

from __future__ import annotations

from collections import Counter
from random import Random

RATES = (0.0, 0.0, 0.01, 0.04, 0.15)
BUDGETS = (0, 1, 2, 3, 5, 8, 12)

RARE = {"user code fails": 0.2, "worker dies in user code": 0.2, "driver dies": 0.5}
"""Places that are passed so often that they need smaller rates."""


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
    """Decides which faults happen. Their number is limited, so every job ends."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._rates: dict[str, float] = {}
        self.left = random.choice(BUDGETS)
        self.happened: Counter[str] = Counter()

    def happens(self, kind: str, where: str = "") -> bool:
        """Whether a fault of this kind happens now. Each kind has a rate of its own, drawn when it is first met."""
        if self.left <= 0:
            return False
        rate = self._rates.get(kind)
        if rate is None:
            rate = self._rates[kind] = self._random.choice(RATES) * RARE.get(kind, 1.0)
        if rate == 0.0 or self._random.random() >= rate:
            return False
        self.left -= 1
        self.happened[f"{kind} {where}".strip()] += 1
        return True
