"""The records of the store: as a rule one payload per key, or several payloads with the values they belong to.

A record is shared when its key does not identify one value: it contains the payloads of all values with this key, each
with its *identity*, the value itself. Payloads never begin with the byte that marks such records.
"""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from millrace.runtime.storage import dumps

SHARED = 1
"""first byte of a shared record"""
_SHARED = bytes([SHARED])
_PICKLED = 0x80
"""first byte of every pickle"""
_PLAIN = frozenset({int, float, str, bool, bytes, type(None)})
_FLAT = frozenset({tuple, list})
_MARSHAL_VERSION = 2


def encode_value(value: Any) -> bytes:
    """The payload of a value: by marshal where that restores it exactly (ADR 5), else a pickle."""
    kind = value.__class__
    if kind in _PLAIN or (kind in _FLAT and _PLAIN.issuperset(map(type, value))):
        return marshal.dumps(value, _MARSHAL_VERSION)
    return dumps(value)


def decode_value(payload: bytes) -> Any:
    return pickle.loads(payload) if payload[0] == _PICKLED else marshal.loads(payload)


def encode_values(values: list[Any]) -> list[bytes]:
    """``encode_value`` of each value."""
    if _PLAIN.issuperset(map(type, values)):
        dumps_plain = marshal.dumps
        return [dumps_plain(value, _MARSHAL_VERSION) for value in values]
    return list(map(encode_value, values))


def decode_values(payloads: list[bytes]) -> list[Any]:
    """``decode_value`` of each payload."""
    if _PICKLED in set(map(itemgetter(0), payloads)):
        return list(map(decode_value, payloads))
    return list(map(marshal.loads, payloads))


def any_shared(records: list[bytes]) -> bool:
    """Whether one of the records is shared."""
    return SHARED in set(map(itemgetter(0), records))


def find(record: bytes, identity: Any) -> bytes | None:
    """The payload for an identity in a shared record; None: there is none."""
    return next((payload for other, payload in _parts(record) if other == identity), None)


def identities(record: bytes) -> Iterator[tuple[Any, bytes]]:
    """All (identity, payload) of a shared record."""
    return iter(_parts(record))


def with_payload(record: bytes | None, identity: Any, payload: bytes) -> bytes:
    """A shared record after a payload was added or replaced. As in a dict, the first of equal identities stays."""
    parts = [] if record is None or record[0] != SHARED else _parts(record)
    for place, (other, _) in enumerate(parts):
        if other == identity:
            parts[place] = (other, payload)
            break
    else:
        parts.append((identity, payload))
    return _SHARED + dumps(parts)


def without(record: bytes, is_removed: Callable[[Any], bool]) -> bytes | None:
    """A shared record without the payloads of some identities; None if no payload is left."""
    left = [part for part in _parts(record) if not is_removed(part[0])]
    return _SHARED + dumps(left) if left else None


def _parts(record: bytes) -> list[tuple[Any, bytes]]:
    parts: list[tuple[Any, bytes]] = pickle.loads(record[1:])
    return parts
