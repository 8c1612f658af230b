"""Errors of table programs: what is wrong, in which line of the user's program, what was perhaps meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from millrace.graph.origin import user_origin
from millrace.util.exceptions import TableException


def problem(message: str) -> TableException:
    """The exception to raise, with the user's file and line in front."""
    return TableException(f"{user_origin()}: {message}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``", did you mean 'x'?"`` if a known name is close to this one. Case does not matter."""
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f", did you mean '{folded[close[0]]}'?" if close else ""
