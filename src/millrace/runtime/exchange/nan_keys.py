"""NaN as a key. Python's is unlike itself; as a key all of them are one, as Java's ``Double.equals`` says.

In place of it there is a float that equals every NaN, also within tuples, rows, lists and dataclasses. It stays what it
is when it is pickled, so that nothing that restores or sends keys has to know of it.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import uuid
from collections.abc import Callable
from itertools import chain
from operator import is_, ne
from typing import Any

from millrace.common.types import Row, row_of

__all__ = ["NEVER_NAN", "NanKey", "one_nan", "with_one_nan"]

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
    """The keys of a chunk with one NaN for all. The very same list if there is none; types tell that most often."""
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
    """A key with the NaN that equals itself; the very same key if it holds none."""
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
    """A copy of a dataclass; ``replace`` would run what its class does when one is made."""
    found = {field.name: getattr(key, field.name) for field in dataclasses.fields(key)}
    changed = {name: new for name, old in found.items() if (new := with_one_nan(old)) is not old}
    if not changed:
        return key
    copied = copy.copy(key)
    for name, value in changed.items():
        object.__setattr__(copied, name, value)
    return copied
