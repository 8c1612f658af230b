"""What lies under a key of the store."""

from __future__ import annotations

import enum
from array import array
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row
from millrace.runtime.state.disk.records import (
    SHARED,
    decode_value,
    encode_value,
    find,
    identities,
    with_payload,
    without,
)

Pair = namedtuple("Pair", "left right")


class Level(enum.IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    "value",
    [
        *(0, 2**80, True, None, 0.5, -0.0, "", "\ud800", b"x", (), [], (1, "a"), [None, 2.5], (1, (2,)), {"a": 1}, {1}),
        *(bytearray(b"x"), array("i", [1]), Pair(1, 2), Level.LOW, (Level.LOW,), Row(a=1), np.float64(0.5)),
        [bytearray()],
    ],
)
def test_values_come_back_as_they_were(value: Any) -> None:
    payload = encode_value(value)
    found = decode_value(payload)
    assert repr(found) == repr(value)
    assert type(found) is type(value)
    assert payload[0] != SHARED


def test_an_array_of_numpy_comes_back() -> None:
    assert decode_value(encode_value(np.arange(3))).tolist() == [0, 1, 2]


@given(st.lists(st.tuples(st.sampled_from([1, 1.0, True, "a", "b", (1, 2)]), st.binary(min_size=1) | st.none())))
def test_a_shared_record_is_a_dict(steps: list[tuple[Any, bytes | None]]) -> None:
    record: bytes | None = None
    model: dict[Any, bytes] = {}
    for identity, payload in steps:
        if payload is not None:
            record = with_payload(record, identity, payload)
            model[identity] = payload
        elif record is not None:
            record = without(record, lambda other, gone=identity: other == gone)  # type: ignore[misc]
            model.pop(identity, None)
        assert (record is None) == (not model)
        assert ([] if record is None else list(identities(record))) == list(model.items())
        if record is not None:
            assert record[0] == SHARED
            assert find(record, identity) == model.get(identity)


def test_a_record_of_one_value_becomes_shared() -> None:
    assert list(identities(with_payload(encode_value(5), True, b"x"))) == [(True, b"x")]
