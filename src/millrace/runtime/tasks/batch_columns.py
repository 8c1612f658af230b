"""Groups the input of a keyed operator by key in batch mode, with elements in columns.

Elements are stored and rearranged as the columns that they travel in, and become objects when they are used.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from itertools import accumulate, chain, pairwise, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from millrace.runtime.elements import MIN_TIMESTAMP, Chunk
from millrace.runtime.exchange.codec import Packed, packed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Places = list[int] | npt.NDArray[np.int64]

# Elements in columns

MANY = 4_096
"""Number of values from which on plain numbers are moved into arrays, without an object for each."""


class Columns:
    """Elements in columns, in the order of arrival."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self.timestamps: list[int | None] | None = None
        self._columns: list[Any] = []
        self._form: tuple[int, Any, bool] | None = None
        """the form of the columns, as in ``Packed``; None: there are no elements"""

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, elements: Packed) -> None:
        """Append elements."""
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
        """Convert the columns to objects, since elements of several forms have no other form in common."""
        everything = packed(Chunk(self.whole().values(), self.timestamps, self.keys))
        self._columns, self._form = everything.columns, (everything.form, everything.names, everything.plain)

    def whole(self) -> Packed:
        """All elements; to be called when no more are added."""
        if self._form is None:
            return packed(Chunk([], None, []))
        form, names, plain = self._form
        return Packed(form, names, self._columns, self.timestamps, self.keys, plain)


def take(elements: Packed, places: Places) -> Packed:
    """Some of the elements, in any order. ``places``: their indexes, as a list or a numpy array."""
    order = places if isinstance(places, list) else places.tolist()
    return Packed(
        elements.form,
        elements.names,
        [_take(column, places, order) for column in elements.columns],
        None if elements.timestamps is None else _take(elements.timestamps, places, order),
        None if elements.keys is None else _take(elements.keys, places, order),
        elements.plain,
    )


def _take(column: Any, places: Places, order: list[int]) -> list[Any]:
    if isinstance(column, (list, tuple)):
        return list(map(column.__getitem__, order))
    taken: list[Any] = column[places].tolist()
    return taken


def compact(elements: Packed) -> Packed:
    """The elements with plain numbers in arrays, so that taking them out in another order reads neighbouring memory."""
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
    """The indexes of elements, key by key."""

    places: Places
    """indexes of elements, as a list or a numpy array"""
    bounds: list[int]
    """positions in ``places`` at which the keys begin, and the end"""

    def sizes(self) -> list[int]:
        """The number of elements of each key."""
        return [end - start for start, end in pairwise(self.bounds)]

    def firsts(self) -> list[int]:
        """The index of one element of each key."""
        places = self.places
        if isinstance(places, list):
            return [places[start] for start in self.bounds[:-1]]
        firsts: list[int] = places[self.bounds[:-1]].tolist()
        return firsts

    def rounds(self, size: int) -> Iterator[Groups]:
        """Split into groups of whole keys with ``size`` elements together, or a little more."""
        bounds, first = self.bounds, 0
        while first + 1 < len(bounds):
            start = bounds[first]
            last = min(bisect_left(bounds, start + size, lo=first + 1), len(bounds) - 1)
            ends = [bound - start for bound in bounds[first : last + 1]]
            yield Groups(self.places[start : bounds[last]], ends)
            first = last


def groups_of(keys: list[Any], timestamps: list[int | None] | None) -> Groups:
    """The elements of each key, by time (elements without a timestamp first) and then by index.

    Keys are in the order of their first elements.
    """
    times = None if timestamps is None else sort_keys(timestamps)
    found = None
    if len(keys) >= MANY and set(map(type, keys)) in ({int}, {str}):
        found = _by_columns(keys, times)
    return found or _by_dict(keys, times)


def _by_columns(keys: list[Any], times: list[int] | None) -> Groups | None:
    """As ``groups_of``, several times as fast as a dict of lists, which are scattered in memory. None: keys or times
    don't fit into columns."""
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
    """Key -> indexes of its elements; keys are in the order of their first elements."""
    found: dict[Any, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        found[key].append(place)
    return found


def sort_keys(timestamps: list[int | None]) -> list[int]:
    """Sort keys for timestamps (ms): as in Flink, elements without a timestamp come first."""
    if None in timestamps:
        return [MIN_TIMESTAMP if time is None else time for time in timestamps]
    return timestamps  # type: ignore[return-value]


# Elements by key

ROUND = 16_384
"""The number of elements that an operator gets at once, if the keys are small."""


class KeyedChunk(NamedTuple):
    """Elements of one key after the other, for an operator in batch mode."""

    chunk: Chunk
    inputs: list[int] | None
    """the input of each element; None: input 0 for all"""
    complete: bool
    """whether no more elements follow for any of its keys; else its last key continues in the next chunk"""


class Elements:
    """Elements in the order of arrival, those of input 0 first."""

    def __init__(self) -> None:
        self._columns = Columns()
        self._second: int | None = None
        """index of the first element of input 1; None: it has no elements"""

    def add(self, input: int, elements: Packed) -> None:
        """Add elements. All elements of input 0 must come before those of input 1."""
        if input and self._second is None:
            self._second = len(self._columns)
        self._columns.add(elements)

    def by_key(self) -> Iterator[KeyedChunk]:
        """All elements, one key after the other in the order of their first elements.

        Elements of a key are in the order of time, as in Flink's batch mode; those with equal timestamps, or without,
        in the order of inputs and arrival. All elements of a key share one key object.
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
