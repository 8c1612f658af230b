"""A terminal with one line at its bottom that changes in place; everything else scrolls above it."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

_ERASE = Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))


class Screen:
    """Draws the live line. Own code and not rich's Live, which wraps and buffers what the program prints."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.RLock()
        self._line: str | None = None
        self._drawn = False
        self._midline = False
        """whether the program has written an unfinished line: the live line is not drawn meanwhile"""

    def show(self, line: str | None) -> None:
        """Replace the live line; None removes it."""
        with self._lock:
            if self._drawn and line == self._line:
                return
            self._erase()
            self._line = line
            self._draw()

    def say(self, line: str) -> None:
        """Print a line that stays."""
        with self._lock:
            self._erase()
            if self._midline:
                self._console.file.write("\n")
                self._midline = False
            self._console.print(Text(line), soft_wrap=True)
            self._draw()

    def write(self, stream: TextIO, text: str) -> int:
        """Write the program's text above the live line."""
        if not text:
            return 0
        with self._lock:
            self._erase()
            written = stream.write(text)
            self._midline = not text.endswith("\n")
            if not self._midline:
                stream.flush()
                self._draw()
        return written

    def _erase(self) -> None:
        if self._drawn:
            self._console.control(_ERASE)
            self._drawn = False

    def _draw(self) -> None:
        if self._line is None or self._midline or self._console.is_dumb_terminal:
            return
        text = Text(self._line, style="dim")
        # A line as wide as the terminal would wrap, and could not be erased.
        text.truncate(self._console.width - 1, overflow="ellipsis")
        self._console.print(text, end="", no_wrap=True, highlight=False)
        self._drawn = True

    @contextlib.contextmanager
    def around(self) -> Iterator[None]:
        """Let output inside scroll above the live line."""
        out, err = sys.stdout, sys.stderr
        if out.isatty():
            sys.stdout = Above(self, out)
        sys.stderr = Above(self, err)
        try:
            yield
        finally:
            self.show(None)
            sys.stdout, sys.stderr = out, err


class Above:
    """A text stream whose text appears above the live line."""

    def __init__(self, screen: Screen, stream: TextIO) -> None:
        self._screen = screen
        self._stream = stream

    def write(self, text: str) -> int:
        return self._screen.write(self._stream, text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def terminal() -> Screen | None:
    """The screen of standard error; None if it is not a terminal."""
    if not sys.stderr.isatty():
        return None
    return Screen(Console(file=sys.stderr, highlight=False))
