"""A place in the output of a cell whose content is replaced."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

REFRESH_SECONDS = 0.1
"""at least between two changes of what is seen"""


class Place:
    """Shows one thing at a time.

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
