"""What the threads of a process do at one moment, or did over a while."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ThreadDocument:
    """One thread with its stack."""

    name: str
    text: str
    """name, state and stack, a line a frame"""


@dataclass(frozen=True)
class FrameDocument:
    """A node of a flame graph: a frame, how often it was seen, and the frames that it called."""

    name: str
    value: int
    children: tuple[FrameDocument, ...] = ()
