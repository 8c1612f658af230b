"""Maps keys to key groups and these to subtasks, for single keys and for columns: equal in every process and version.

Python's own ``hash`` is salted per process, so it can't decide which subtask owns a key. Equal keys must get equal
groups, also where Python says that values of different types are equal (1 == 1.0 == True): the hash follows equality,
not the type.

Two kinds of values need a special form as keys. In Python NaN does not equal itself; as a key all NaNs are one, as in
Java's ``Double.equals``: a float that equals every NaN replaces it, also within tuples, rows, lists and dataclasses. It
is pickled as itself, so code that restores or sends keys need not know of it. Lists and dicts are hashed by their
content, because PyFlink compares keys by their serialized bytes.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import enum
import struct
import uuid
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from operator import is_, ne
from typing import Any

import numpy as np

from millrace.common.types import Row, row_of

# NaN as a key

NEVER_NAN = frozenset(
    {int, str, bytes, bool, type(None), decimal.Decimal, uuid.UUID}
    | {datetime.date, datetime.datetime, datetime.time, datetime.timedelta}
)
"""types of keys that neither are NaN nor hold one"""


class NanKey(float):
    """NaN that equals NaN."""

    __slots__ = ()

    def __new__(cls) -> NanKey:
        return super().__new__(cls, "nan")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and float.__ne__(other, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return 0x7FF80000

    def __reduce__(self) -> tuple[Any, ...]:
        return NanKey, ()


_NAN = NanKey()


def one_nan(keys: list[Any]) -> list[Any]:
    """The keys of a chunk, with one NaN for all of them. Returns the same list if it has none; mostly the types
    tell.
    """
    kinds = set(map(type, keys))
    if kinds <= NEVER_NAN:
        return keys
    if kinds == {float}:
        return [key if key == key else _NAN for key in keys] if any(map(ne, keys, keys)) else keys
    if kinds == {tuple} and NEVER_NAN.issuperset(map(type, chain.from_iterable(keys))):
        return keys
    changed = list(map(with_one_nan, keys))
    return keys if all(map(is_, keys, changed)) else changed


def with_one_nan(key: Any) -> Any:
    """The key with ``NanKey`` in place of NaN; the same object if it holds none."""
    kind = key.__class__
    if kind in NEVER_NAN:
        return key
    if isinstance(key, float):
        return key if key == key else _NAN
    if isinstance(key, tuple):
        return _changed(key, key, lambda values: tuple.__new__(kind, values))
    if isinstance(key, Row):
        return _changed(key, key, lambda values: row_of(values, key._fields, key.get_row_kind()))
    if kind is list:
        return _changed(key, key, list)
    if kind is dict:
        return _changed(key, [*key.keys(), *key.values()], lambda both: dict(zip(both, both[len(key) :])))
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        return _changed_fields(key)
    return key


def _changed(key: Any, values: Any, make: Callable[[list[Any]], Any]) -> Any:
    made = list(map(with_one_nan, values))
    return key if all(map(is_, made, values)) else make(made)


def _changed_fields(key: Any) -> Any:
    """A copy of a dataclass with changed fields, made without calling its ``__init__`` or ``__post_init__``."""
    found = {field.name: getattr(key, field.name) for field in dataclasses.fields(key)}
    changed = {name: new for name, old in found.items() if (new := with_one_nan(old)) is not old}
    if not changed:
        return key
    copied = copy.copy(key)
    for name, value in changed.items():
        object.__setattr__(copied, name, value)
    return copied


# Stable hashes and key groups

DEFAULT_LOWER_BOUND_MAX_PARALLELISM = 128
UPPER_BOUND_MAX_PARALLELISM = 32768
_MASK = 0xFFFFFFFF


class UnstableKeyError(TypeError):
    """The key's type has no hash that is the same in every process."""


def default_max_parallelism(parallelism: int) -> int:
    """Flink's default: the power of two at or above 1.5 times the parallelism, between 128 and 32768."""
    wanted = parallelism + parallelism // 2
    power = 1 << max(0, wanted - 1).bit_length()
    return min(max(power, DEFAULT_LOWER_BOUND_MAX_PARALLELISM), UPPER_BOUND_MAX_PARALLELISM)


def stable_hash(key: Any) -> int:
    """A 32 bit hash of ``key`` that depends on nothing but its value.

    Raises ``UnstableKeyError`` for values without one (sets, dicts, functions, objects that aren't dataclasses).
    """
    if isinstance(key, str):  # also an enum of strings, which equals its value
        return zlib.crc32(key.encode("utf-8", "surrogatepass"))
    if isinstance(key, int):
        return _hash_int(int(key))
    if isinstance(key, float):
        return _hash_int(int(key)) if key.is_integer() else _hash_fraction(key)
    if key is None:
        return 0x6E756C6C
    return _hash_other(key)


def _hash_int(value: int) -> int:
    return zlib.crc32(value.to_bytes((value.bit_length() + 8) // 8 or 1, "big", signed=True))


def _hash_fraction(value: float) -> int:
    return zlib.crc32(struct.pack(">d", value))


def _hash_decimal(value: decimal.Decimal) -> int:
    if value.is_finite() and value == value.to_integral_value():
        return _hash_int(int(value))
    nearest = float(value)
    return _hash_fraction(nearest) if nearest == value else zlib.crc32(str(value.normalize()).encode(), 5)


def _hash_other(key: Any) -> int:
    if isinstance(key, enum.Enum):
        return zlib.crc32(f"{type(key).__qualname__}.{key.name}".encode())
    if isinstance(key, (bytes, bytearray)):
        return zlib.crc32(key, 1)
    if isinstance(key, tuple):
        return _combine(key, 2)
    if isinstance(key, Row):
        return _combine(tuple(key), 4)
    if isinstance(key, decimal.Decimal):
        return _hash_decimal(key)
    if isinstance(key, datetime.datetime) and key.tzinfo is not None:
        return zlib.crc32(key.astimezone(datetime.timezone.utc).isoformat().encode(), 6)
    if isinstance(key, (datetime.date, datetime.time, datetime.timedelta, uuid.UUID)):
        return zlib.crc32(str(key).encode(), 7)
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        fields = tuple(getattr(key, f.name) for f in dataclasses.fields(key) if f.compare)
        return _combine((type(key).__qualname__, *fields), 8)
    stable = getattr(key, "__stable_hash__", None)
    if stable is not None:
        return int(stable()) & _MASK
    raise UnstableKeyError(
        f"a key of type {type(key).__name__} has no hash that is the same in every process; use a str, int, float, "
        f"bytes, tuple, Row, date, Enum or dataclass, or give the class a method __stable_hash__() -> int"
    )


def unhashable(key: Any, error: Exception) -> Exception:
    """The error for a key without a hash; other errors (of the user's own ``__hash__``) are returned unchanged."""
    try:
        hash(key)
    except TypeError:
        return UnstableKeyError(f"a {type(key).__name__} can't be a key: {error}; use a tuple of its parts")
    except Exception:
        return error
    return error


def _combine(values: tuple[Any, ...], seed: int) -> int:
    result = seed
    for value in values:
        result = (result * 31 + stable_hash(value)) & _MASK
    return result


def _mix(value: int) -> int:
    """The finaliser of MurmurHash3: spreads neighbouring hashes over all key groups."""
    value ^= value >> 16
    value = (value * 0x85EBCA6B) & _MASK
    value ^= value >> 13
    value = (value * 0xC2B2AE35) & _MASK
    return value ^ (value >> 16)


def key_group(key: Any, max_parallelism: int) -> int:
    """The key group of a key: 0 <= group < max_parallelism."""
    return _mix(stable_hash(key)) % max_parallelism


def subtask_of_group(group: int, max_parallelism: int, parallelism: int) -> int:
    """The subtask that owns a key group: groups go to subtasks in contiguous ranges, as in Flink."""
    return group * parallelism // max_parallelism


def group_range(subtask: int, max_parallelism: int, parallelism: int) -> range:
    """The key groups of a subtask."""
    start = (subtask * max_parallelism + parallelism - 1) // parallelism
    end = ((subtask + 1) * max_parallelism + parallelism - 1) // parallelism
    return range(start, end)


# Lists and dicts as keys


class ListKey(list[Any]):
    """A list that is hashed by its content and equals the list. Changing it changes the key, so its state is not found
    again."""

    def __hash__(self) -> int:  # type: ignore[override]  # lists have none, since they may be changed
        return hash(tuple(self))

    def __stable_hash__(self) -> int:
        return stable_hash(tuple(self))


class DictKey(dict[Any, Any]):
    """A dict that is hashed by its content and equals the dict, in any order of its entries."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __stable_hash__(self) -> int:
        return sum(map(stable_hash, self.items())) & 0xFFFFFFFF


def hashable(keys: list[Any]) -> list[Any]:
    """The keys of a chunk in a hashable form, with one NaN. The first key decides whether they have to be converted."""
    keys = one_nan(keys)
    try:
        hash(keys[0] if keys else None)
    except Exception:  # what cannot be helped here is told by who looks the keys up
        return [_hashable(key) for key in keys]
    return keys


def _hashable(key: Any) -> Any:
    kind = type(key)
    if kind is list:
        return ListKey(map(_hashable, key))
    if kind is dict:
        return DictKey((name, _hashable(value)) for name, value in key.items())
    return tuple(map(_hashable, key)) if kind is tuple else key


# Stable hashes of columns

Integers = np.ndarray[Any, np.dtype[np.int64]]
Hashes = np.ndarray[Any, np.dtype[np.uint64]]
"""32 bit numbers in 64 bits, so that products do not overflow"""

MASK = np.uint64(0xFFFFFFFF)
_BYTE = np.uint64(0xFF)


def integer_hashes(values: Integers) -> Hashes:
    """CRC-32 of the shortest two's complement form of each number, the highest byte first."""
    bits = values.view(np.uint64)
    size = np.where(values < 0, np.uint64(0) - bits, bits)
    width = np.ones(len(values), np.int8)
    for count in range(1, 9):
        longer = size >= np.uint64(1 << (8 * count - 1))
        if not longer.any():
            break
        width += longer
    table = _crc_table()
    found: Hashes = np.full(len(values), MASK, np.uint64)
    for place in reversed(range(int(width.max(initial=1)))):
        # The ninth byte of the smallest number is its sign.
        byte = (values >> min(8 * place, 63)).view(np.uint64) & _BYTE
        after = table[((found ^ byte) & _BYTE).astype(np.intp)] ^ (found >> np.uint64(8))
        found = np.where(place < width, after, found)
    found ^= MASK
    return found


def column_hashes(keys: Sequence[Any]) -> Hashes | None:
    """The stable hashes of plain integers or strings; None for other keys."""
    kinds = set(map(type, keys))
    try:
        if kinds == {int}:
            return integer_hashes(np.array(keys, np.int64))
        if kinds == {str}:
            return np.fromiter(map(zlib.crc32, map(str.encode, keys)), np.uint64, len(keys))
    except (OverflowError, UnicodeEncodeError):
        return None  # larger than 64 bits, or half a surrogate pair
    return None


@cache
def _crc_table() -> Hashes:
    """The table of a CRC-32: the effect of each byte."""
    found = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        found = np.where(found & np.uint64(1), np.uint64(0xEDB88320), np.uint64(0)) ^ (found >> np.uint64(1))
    return found


def subtasks_of(hashes: Hashes, max_parallelism: int, parallelism: int) -> Integers:
    """The subtask of each hash, as ``key_group`` and ``subtask_of_group`` compute it."""
    return groups_of(hashes, max_parallelism) * parallelism // max_parallelism


def groups_of(hashes: Hashes, max_parallelism: int) -> Integers:
    """The key group of each hash."""
    value = hashes ^ (hashes >> np.uint64(16))
    value = (value * np.uint64(0x85EBCA6B)) & MASK
    value = value ^ (value >> np.uint64(13))
    value = (value * np.uint64(0xC2B2AE35)) & MASK
    value = value ^ (value >> np.uint64(16))
    found: Integers = (value % np.uint64(max_parallelism)).astype(np.int64)
    return found
