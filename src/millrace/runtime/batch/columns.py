"""Elements in columns: they are put together and taken apart as they travel, and become objects when they are used."""

from __future__ import annotations

from typing import Any

from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import Packed, packed

MANY = 4_096
"""From here on it pays to have numbers without an object each."""


class Columns:
    """Elements in the order of their arrival."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self.timestamps: list[int | None] | None = None
        self._columns: list[Any] = []
        self._form: tuple[int, Any, bool] | None = None
        """what the columns mean; None: there are no elements"""

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, elements: Packed) -> None:
        """Put elements behind those that are here."""
        count = len(elements.keys or ())
        if not count:
            return
        form = (elements.form, elements.names, elements.plain)
        if self._form is None:
            self._form, self._columns = form, [[] for _ in elements.columns]
        elif form != self._form or len(elements.columns) != len(self._columns):
            self._become_values()
            elements = packed(Chunk(elements.values(), elements.timestamps, elements.keys))
        if elements.timestamps is not None and self.timestamps is None:
            self.timestamps = [None] * len(self)
        if self.timestamps is not None:
            self.timestamps += elements.timestamps or [None] * count
        self.keys += elements.keys or ()
        for column, more in zip(self._columns, elements.columns):
            column += more

    def _become_values(self) -> None:
        """Elements of several forms only have in common that they are objects."""
        everything = packed(Chunk(self.whole().values(), self.timestamps, self.keys))
        self._columns, self._form = everything.columns, (everything.form, everything.names, everything.plain)

    def whole(self) -> Packed:
        """All elements; to be called when nothing is added any more."""
        if self._form is None:
            return packed(Chunk([], None, []))
        form, names, plain = self._form
        return Packed(form, names, self._columns, self.timestamps, self.keys, plain)


def take(elements: Packed, places: Any) -> Packed:
    """Some of the elements, in any order. ``places``: a list, or an array of numpy."""
    order = places if isinstance(places, list) else places.tolist()
    return Packed(
        elements.form,
        elements.names,
        [_take(column, places, order) for column in elements.columns],
        None if elements.timestamps is None else _take(elements.timestamps, places, order),
        None if elements.keys is None else _take(elements.keys, places, order),
        elements.plain,
    )


def _take(column: Any, places: Any, order: list[int]) -> list[Any]:
    if isinstance(column, (list, tuple)):
        return list(map(column.__getitem__, order))
    taken: list[Any] = column[places].tolist()
    return taken


def compact(elements: Packed) -> Packed:
    """The same with plain numbers in arrays: elements that are taken out in another order lie side by side."""
    columns = [_compact(column) for column in elements.columns]
    timestamps: Any = None if elements.timestamps is None else _compact(elements.timestamps)
    return elements._replace(columns=columns, timestamps=timestamps)


def _compact(column: list[Any]) -> Any:
    import numpy as np

    kinds = set(map(type, column))
    if kinds == {float}:
        return np.array(column, np.float64)
    if kinds == {int}:
        try:
            return np.array(column, np.int64)
        except OverflowError:
            return column
    return column
