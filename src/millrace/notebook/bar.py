"""A running job in the output of its cell: a bar with its figures, and a line that remains."""

from __future__ import annotations

from html import escape

from millrace.cli.live import JobWatch, LiveListener, Places
from millrace.notebook.place import Place

_BAR = '<div><progress{value} aria-label="the job"></progress> <code>{text}</code></div>'

_named: set[Places] = set()
"""Dashboards and logs that some cell has named: the others need not."""


class CellScreen:
    """What a terminal's screen is for ``millrace run``: a line that changes, and lines that stay below each other."""

    def __init__(self) -> None:
        self._place = Place()
        self._said: list[str] = []
        self._line: str | None = None

    def show(self, line: str | None) -> None:
        """Replace the line; None: there is none any more."""
        self._line = line
        self._draw(last=line is None)

    def say(self, line: str) -> None:
        self._said.append(line)
        self._draw(last=True)

    def _draw(self, last: bool) -> None:
        self._place.show(self._html, self._text, last)

    def _html(self) -> str:
        done = [f"<div><code>{escape(text)}</code></div>" for text in self._said]
        bar = [] if self._line is None else [_BAR.format(value="", text=escape(self._line))]
        return "".join([*done, *bar])

    def _text(self) -> str:
        return "\n".join([*self._said, *([] if self._line is None else [self._line])])


def bar() -> LiveListener:
    """The listener of one job."""
    screen = CellScreen()
    return LiveListener(JobWatch(screen, named=_named), screen)
