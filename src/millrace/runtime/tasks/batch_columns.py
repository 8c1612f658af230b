"""The input of a keyed operator of batch mode: elements in columns, brought together by key.

Elements are put together and taken apart as they travel, and become objects when they are used.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from itertools import accumulate, chain, pairwise, repeat
from typing import Any, NamedTuple

from millrace.runtime.elements import MIN_TIMESTAMP, Chunk
from millrace.runtime.exchange.codec import Packed, packed

# Elements in columns

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


# Elements of the same key


class Groups(NamedTuple):
    """Places of elements, key by key."""

    places: Any
    """a list, or an array of numpy"""
    bounds: list[int]
    """where the keys begin in ``places``, and at last the end"""

    def sizes(self) -> list[int]:
        """How many elements each key has."""
        return [end - start for start, end in pairwise(self.bounds)]

    def firsts(self) -> list[int]:
        """One place of each key."""
        places = self.places
        if isinstance(places, list):
            return [places[start] for start in self.bounds[:-1]]
        firsts: list[int] = places[self.bounds[:-1]].tolist()
        return firsts

    def rounds(self, size: int) -> Iterator[Groups]:
        """Whole keys with so many elements together, or a little more."""
        bounds, first = self.bounds, 0
        while first + 1 < len(bounds):
            start = bounds[first]
            last = min(bisect_left(bounds, start + size, lo=first + 1), len(bounds) - 1)
            ends = [bound - start for bound in bounds[first : last + 1]]
            yield Groups(self.places[start : bounds[last]], ends)
            first = last


def groups_of(keys: list[Any], timestamps: list[int | None] | None) -> Groups:
    """The elements of each key, in the order of time (without one they come first) and then of their places.

    Keys are in the order of their first places.
    """
    times = None if timestamps is None else sort_keys(timestamps)
    found = None
    if len(keys) >= MANY and set(map(type, keys)) in ({int}, {str}):
        found = _by_columns(keys, times)
    return found or _by_dict(keys, times)


def _by_columns(keys: list[Any], times: list[int] | None) -> Groups | None:
    """Several times as fast as a dict of lists, which lie all over the memory. None: there are keys or times that don't
    fit into columns."""
    import numpy as np
    import pyarrow as pa

    try:
        encoded = pa.array(keys).dictionary_encode()
        stamps = None if times is None else np.array(times, np.int64)
    except (pa.ArrowInvalid, OverflowError, UnicodeError):  # a large number, half a surrogate pair
        return None
    codes = encoded.indices.to_numpy()
    if len(encoded.dictionary) <= np.iinfo(np.uint16).max:
        codes = codes.astype(np.uint16)  # these are sorted by radix
    places = np.argsort(codes, kind="stable") if stamps is None else np.lexsort((stamps, codes))
    return Groups(places, [0, *np.cumsum(np.bincount(codes)).tolist()])


def _by_dict(keys: list[Any], times: list[int] | None) -> Groups:
    groups = positions(keys).values()
    if times is not None:
        for places in groups:
            if len(places) > 1:
                places.sort(key=times.__getitem__)
    return Groups(list(chain.from_iterable(groups)), [0, *accumulate(map(len, groups))])


def positions(keys: Iterable[Hashable]) -> dict[Any, list[int]]:
    """Key -> its places, keys in the order of their first ones."""
    found: dict[Any, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        found[key].append(place)
    return found


def sort_keys(timestamps: list[int | None]) -> list[int]:
    """What to sort by: elements without a timestamp come first, as in Flink."""
    if None in timestamps:
        return [MIN_TIMESTAMP if time is None else time for time in timestamps]
    return timestamps  # type: ignore[return-value]


# Elements by key

ROUND = 16_384
"""Elements that an operator gets at once, if the keys are small."""


class KeyedChunk(NamedTuple):
    """Elements of one key after the other, for an operator of batch mode."""

    chunk: Chunk
    inputs: list[int] | None
    """the input of each element; None: all of input 0"""
    complete: bool
    """whether nothing more comes for any of its keys; else its last key goes on"""


class Elements:
    """Elements in the order of their arrival, those of input 0 first."""

    def __init__(self) -> None:
        self._columns = Columns()
        self._second: int | None = None
        """where input 1 begins; None: it has nothing"""

    def add(self, input: int, elements: Packed) -> None:
        """Add elements. Inputs come in their order."""
        if input and self._second is None:
            self._second = len(self._columns)
        self._columns.add(elements)

    def by_key(self) -> Iterator[KeyedChunk]:
        """All elements, one key after the other in the order of their first elements.

        Those of a key are in the order of time, as Flink's batch mode has them; those of the same time, or without, in
        the order of inputs and arrival. One object stands for all elements' key.
        """
        elements = self._columns.whole()
        if not elements.keys:
            return
        groups = groups_of(elements.keys, elements.timestamps)
        if len(elements.keys) >= MANY:
            elements = compact(elements)
        for part in groups.rounds(ROUND):
            yield self._take(elements, part)

    def _take(self, elements: Packed, part: Groups) -> KeyedChunk:
        taken = take(elements._replace(keys=None), part.places)
        firsts = map((elements.keys or []).__getitem__, part.firsts())
        keys = list(chain.from_iterable(map(repeat, firsts, part.sizes())))
        inputs = None if self._second is None else [int(place >= self._second) for place in part.places]
        return KeyedChunk(Chunk(taken.values(), taken.timestamps, keys), inputs, True)
