"""Warns about each deprecated name once, with the program's line and today's name."""

from __future__ import annotations

import warnings

from millrace.util.tracebacks import user_origin

__all__ = ["OlderNameWarning", "tell"]


class OlderNameWarning(FutureWarning):
    """A program uses a deprecated name, which still works but has another name in Flink 2."""


_told: set[str] = set()


def tell(older: str, today: str) -> None:
    """Warn once in this process that ``older`` is called ``today`` in Flink 2."""
    if older in _told:
        return
    _told.add(older)
    file, _, line = user_origin().rpartition(":")
    text = f"{older} is of an older Flink; today: {today}"
    warnings.warn_explicit(text, OlderNameWarning, file or "<unknown>", int(line) if line.isdigit() else 1)
