"""What a user may have meant by a name that there is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def close_to(name: str, known: Iterable[str]) -> str | None:
    """The known name that is closest to this one, if one is close. Case does not matter."""
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``", did you mean 'x'?"`` if a known name is close to this one, else an empty text."""
    close = close_to(name, known)
    return "" if close is None else f", did you mean '{close}'?"
