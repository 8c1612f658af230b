"""Where Millrace answers otherwise than Flink, by reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.flink.rest.differences import Difference


@dataclass(frozen=True)
class Known:
    """A reason, and the differences that it holds for: "*" stands for any text."""

    reason: str
    asked: str
    """the keys of requests or command lines: "rest GET /jobs/{jobid}/vertices/*" """
    place: str = "*"
    ours: str = "*"

    def explains(self, difference: Difference) -> bool:
        pairs = ((self.asked, difference.asked), (self.place, difference.place), (self.ours, difference.ours))
        return all(re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), text, re.DOTALL) for pattern, text in pairs)


KNOWN: tuple[Known, ...] = ()
"""Filled as the server is built. The first that fits counts."""


def explained(
    differences: Iterable[Difference], known: Sequence[Known] = KNOWN
) -> tuple[dict[Known, list[Difference]], list[Difference]]:
    """What is known, by reason (also reasons that hold for nothing), and what is not."""
    reasons: dict[Known, list[Difference]] = {each: [] for each in known}
    others: list[Difference] = []
    for difference in differences:
        reason = next((each for each in known if each.explains(difference)), None)
        (others if reason is None else reasons[reason]).append(difference)
    return reasons, others
