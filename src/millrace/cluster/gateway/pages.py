"""The rows of a result in pages, each fetched by its token.

A client asks for token 0, 1, 2, ... and may ask for the last one again, should the answer have been lost on its way.
Rows of a query come from a thread of their own; it waits when the client does not fetch.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from millrace.cluster.gateway.problems import GatewayError
from millrace.common.types import Row

MOST_ROWS = 5000
"""of one page; as long as so many wait for the next one, no more are read"""


@dataclass(frozen=True)
class Page:
    """What a token gives. Without rows and not the last: they have not come yet."""

    rows: tuple[Row, ...]
    is_last: bool


LAST = Page((), True)


class Pages:
    """:param rows: lists of at most ``MOST_ROWS``; one page shows a list as far as it has room.
    :param streamed: whether to read rows on a thread of their own; a list is there at once."""

    def __init__(self, rows: Iterable[Sequence[Row]], streamed: bool) -> None:
        self._waiting: deque[Row] = deque()
        self._changed = threading.Condition()
        self._ended = self._closed = False
        self._error: BaseException | None = None
        self._token = 0
        """the next one"""
        self._last_given = Page((), False)
        if streamed:
            threading.Thread(target=self._read, args=(rows,), name="millrace-gateway-rows", daemon=True).start()
        else:
            self._waiting.extend(chain.from_iterable(rows))
            self._ended = True

    def _read(self, rows: Iterable[Sequence[Row]]) -> None:
        try:
            for together in rows:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or len(self._waiting) < MOST_ROWS)
                    if self._closed:
                        return
                    self._waiting.extend(together)
        except BaseException as error:
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def fetch(self, token: int) -> Page:
        """:raises GatewayError: it is neither the next token nor the one before.

        :raises BaseException: what reading the rows has raised, once those before are fetched.
        """
        with self._changed:
            if token == self._token - 1:
                return self._last_given
            if token != self._token:
                before = f"{self._token} or {self._token - 1}" if self._token else "0"
                raise GatewayError(f"Expecting token to be {before}, but found {token}.")
            if not self._waiting and self._ended:
                if self._error is not None:
                    raise self._error
                return LAST  # under the same token from now on, and the page before stays the one before
            rows = tuple(self._waiting.popleft() for _ in range(min(MOST_ROWS, len(self._waiting))))
            self._changed.notify_all()
            self._last_given = Page(rows, False)
            self._token += 1
            return self._last_given

    def close(self) -> None:
        """Nothing more is fetched."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
