"""Says once, with the line of the program, what an older name is called today."""

from __future__ import annotations

import warnings

from millrace.util.tracebacks import user_origin

__all__ = ["OlderNameWarning", "tell"]


class OlderNameWarning(FutureWarning):
    """A program uses a name of an older Flink, which works here and has another name today."""


_told: set[str] = set()


def tell(older: str, today: str) -> None:
    """Warn that ``older`` is ``today`` in Flink 2, the first time that this process meets it."""
    if older in _told:
        return
    _told.add(older)
    file, _, line = user_origin().rpartition(":")
    text = f"{older} is of an older Flink; today: {today}"
    warnings.warn_explicit(text, OlderNameWarning, file or "<unknown>", int(line) if line.isdigit() else 1)
