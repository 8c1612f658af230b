"""Keys that are lists or dicts."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from millrace.common.types import Row
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import decode, encode
from millrace.runtime.exchange.keys import DictKey, ListKey, UnstableKeyError, hashable, stable_hash
from millrace.runtime.exchange.partitioners import Hash, PartitioningError


@pytest.mark.parametrize(
    "key", [[1, "a"], [], {"a": 1, "b": [2]}, {}, (1, [2]), [[1], {"a": [None]}], (({"a": 1},),)], ids=str
)
def test_they_are_what_they_were_and_can_be_looked_up(key: Any) -> None:
    (found,) = hashable([key])
    assert found == key and str(found) == str(key) and isinstance(found, type(key))
    (again,) = hashable([pickle.loads(pickle.dumps(key))])
    assert hash(again) == hash(found) and stable_hash(again) == stable_hash(found) and {found: 1}[again] == 1
    (chunk,) = decode(encode(Chunk([1], None, [found]), []))
    assert isinstance(chunk, Chunk) and chunk.keys == [key] and {found: 1}[chunk.keys[0]] == 1


def test_the_order_of_a_dict_means_nothing() -> None:
    one, other = hashable([{"a": 1, "b": 2}, {"b": 2, "a": 1}])
    assert (one, hash(one), stable_hash(one)) == (other, hash(other), stable_hash(other))


def test_other_keys_stay_what_they_are() -> None:
    keys = [Row(1), "a", (1, 2), 3]
    assert hashable(keys) is keys and hashable([]) == []


@pytest.mark.parametrize("receivers", [1, 3])
def test_streams_are_partitioned_by_them(receivers: int) -> None:
    router = Hash(lambda value: [value % 4]).router(0, 1, receivers)
    seen: dict[int, set[int]] = {}
    for target, part in router(Chunk(list(range(40)), None)):
        assert all(type(key) is ListKey and key == [value % 4] for key, value in zip(part.keys or (), part.values))
        for value in part.values:
            seen.setdefault(value % 4, set()).add(target)
    assert len(seen) == 4 and all(len(targets) == 1 for targets in seen.values())


@pytest.mark.parametrize("bad", [{1, 2}, [{1, 2}], {"a": {1}}], ids=str)
def test_what_has_no_hash_at_all_is_refused(bad: Any) -> None:
    with pytest.raises(PartitioningError) as raised:
        list(Hash(lambda value: bad).router(0, 1, 2)(Chunk([1], None)))
    assert isinstance(raised.value.__cause__, UnstableKeyError)
    assert not isinstance(bad, (ListKey, DictKey))
