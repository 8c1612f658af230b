"""How long to wait before something is sent again, and how often."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_SECONDS = 60.0
RETRIES, DELAY_SECONDS = 8, 0.05


@dataclass(frozen=True)
class Backoff:
    """
    :ivar retries: 0: nothing is sent again.
    :ivar grows: whether each wait is twice as long as the one before.
    """

    retries: int = 0
    delay: float = DELAY_SECONDS
    grows: bool = False

    def wait(self, attempt: int) -> float:
        """Seconds before the repetition ``attempt``, from 0 on."""
        return min(LONGEST_SECONDS, self.delay * 2 ** min(attempt, 30) if self.grows else self.delay)
