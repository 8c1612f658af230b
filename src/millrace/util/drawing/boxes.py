"""What is drawn: boxes with arrows between them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """A node.

    :ivar title: in its first line.
    :ivar lines: what is told below.
    """

    id: str
    title: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Arrow:
    """From one box to another."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True)
class Drawing:
    """A graph. Arrows whose ends are not among the boxes are errors of the caller.

    :raises ValueError: an arrow begins or ends nowhere, or two boxes have one id.
    """

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    def __post_init__(self) -> None:
        known = {box.id for box in self.boxes}
        if len(known) < len(self.boxes):
            raise ValueError("two boxes have the same id")
        for arrow in self.arrows:
            if not {arrow.source, arrow.target} <= known:
                raise ValueError(f"an arrow from {arrow.source!r} to {arrow.target!r} has an end that is no box")
