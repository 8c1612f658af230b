"""The output of a cell: rows as an HTML table, content that is replaced in place, and the bar of a running job.

Every text is escaped; the colours are those of the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from millrace.cli.live import JobWatch, LiveListener, Places

# Tables

_MOST = 200
"""longest text of a table's cell that is shown (characters)"""


def grid(names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    """
    :param types: below the names; as many, or none.
    :param note: a line below.
    """
    kinds = types or [""] * len(names)
    head = "".join(
        f"<th>{escape(name)}{f'<br><small>{escape(kind)}</small>' if kind else ''}</th>"
        for name, kind in zip(names, kinds)
    )
    body = "".join(f"<tr>{''.join(f'<td>{escape(_shown(cell))}</td>' for cell in row)}</tr>" for row in rows)
    below = f"<p><small>{escape(note)}</small></p>" if note else ""
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"


def _shown(text: str) -> str:
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"


def folded(title: str, content: str) -> str:
    """HTML that is folded until the user opens it."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


# Output that is replaced

REFRESH_SECONDS = 0.1
"""shortest time between two replacements of an output"""


class ReplacedOutput:
    """An output that shows one content at a time, each in place of the one before.

    :param clock: seconds that never go backwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._handle: Any = None
        self._last = float("-inf")

    def show(self, html: Callable[[], str], text: Callable[[], str], last: bool = False) -> bool:
        """Replace what is shown, unless that was done just now.

        :param html: makes what notebooks show; ``text`` what other places show.
        :param last: it must be seen.
        :returns: whether it was done.
        """
        now = self._clock()
        if not last and now - self._last < REFRESH_SECONDS:
            return False
        display = _display()

        self._last = now
        content = {"text/html": html(), "text/plain": text()}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
        return True


def _display() -> Callable[..., Any]:
    try:
        from IPython.display import display
    except ImportError:
        raise ImportError("a live view needs IPython: pip install 'millrace-streaming[notebook]'") from None
    shown: Callable[..., Any] = display
    return shown


# Running jobs

_BAR = '<div><progress{value} aria-label="the job"></progress> <code>{text}</code></div>'

_named: set[Places] = set()
"""Dashboards and logs that a cell has named already."""


class CellScreen:
    """The counterpart of a terminal's screen in a cell: a line that changes, and lines that stay."""

    def __init__(self) -> None:
        self._place = ReplacedOutput()
        self._said: list[str] = []
        self._line: str | None = None

    def show(self, line: str | None) -> None:
        """Replace the changing line; None removes it."""
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
    """The listener that shows one job's progress."""
    screen = CellScreen()
    return LiveListener(JobWatch(screen, named=_named), screen)
