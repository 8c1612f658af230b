"""Pages of a table that grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
"""A row."""


class Pages:
    """Which page is shown. The last page stays the last while rows come."""

    def __init__(self) -> None:
        self._page: int | None = None
        """from 0; None: the last"""
        self._count = 1

    def shown(self, rows: Sequence[T], size: int) -> Sequence[T]:
        """The rows of the page.

        :param size: rows of a page.
        """
        size = max(size, 1)
        self._count = max(-(-len(rows) // size), 1)
        if self._page is not None and self._page >= self._count:
            self._page = self._count - 1
        page = self._count - 1 if self._page is None else self._page
        return rows[page * size : (page + 1) * size]

    @property
    def text(self) -> str:
        page = self._count if self._page is None else self._page + 1
        return f"page {page} of {self._count}"

    def next(self) -> None:
        if self._page is not None:
            self._page = self._page + 1 if self._page + 1 < self._count - 1 else None

    def previous(self) -> None:
        page = self._count - 1 if self._page is None else self._page
        self._page = max(page - 1, 0)

    def first(self) -> None:
        self._page = 0

    def last(self) -> None:
        self._page = None
