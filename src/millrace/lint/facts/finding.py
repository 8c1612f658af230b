"""What is wrong, and where."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Hit:
    """What one rule found."""

    origin: str
    """file:line of the user's code"""
    text: str
    """one sentence, without a full stop"""


@dataclass(frozen=True, order=True)
class Finding:
    """A hit of a rule, as it is shown."""

    file: str
    line: int
    code: str
    """of the rule: ML001"""
    name: str
    """of the rule, in words: growing-state"""
    text: str
    cure: str


def place_of(origin: str) -> tuple[str, int]:
    """The file, as seen from the working directory where it lies below that, and the line; 0 if it is not known."""
    file, colon, line = origin.rpartition(":")
    if not colon or not line.isdigit():
        return origin, 0
    relative = os.path.relpath(file) if os.path.isabs(file) else os.path.normpath(file)
    return (file if relative.startswith(os.pardir) else relative), int(line)
