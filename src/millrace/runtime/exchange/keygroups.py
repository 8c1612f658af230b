"""Keys to key groups to subtasks: the same in every process and for ever.

Python's own ``hash`` is salted per process, so it can't decide where a key lives. Equal keys must get equal groups,
also where Python calls values of different types equal (1 == 1.0 == True): the hash follows equality, not the type.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import struct
import uuid
import zlib
from typing import Any

from millrace.common.types import Row

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
    """What to say when a key has no hash at all; other errors (of the user's own hash function) stay as they are."""
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
