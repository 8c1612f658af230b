"""Every NaN is one key: in the exchange, in state of both kinds, and after a restore."""

from __future__ import annotations

import math
import pickle
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from millrace.checkpoint.columns import decode as stored
from millrace.checkpoint.columns import encode as store
from millrace.common import Types
from millrace.common.types import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import MapStateDescriptor
from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import decode, encode
from millrace.runtime.exchange.keys import NanKey, hashable, one_nan, stable_hash, with_one_nan
from millrace.runtime.state.disk.keys import is_plain, part
from millrace.table import MapView
from millrace.testing import run_locally


class Point(NamedTuple):
    x: float
    y: float


@dataclass(frozen=True)
class Place:
    name: str
    x: float


def _nan(bits: int = 0x7FF8000000000000) -> float:
    """Another object each time."""
    found: float = struct.unpack(">d", struct.pack(">Q", bits))[0]
    return found


def _keys(nan: float) -> list[Any]:
    """One key of each kind that holds a NaN."""
    return [nan, (1, nan), Point(1.0, nan), Row(a=1, b=nan), Place("a", nan), ("a", (nan, [nan])), [nan], {"a": nan}]


@pytest.mark.parametrize("place", range(8))
def test_two_of_them_are_one_key(place: int) -> None:
    nans = (_nan(), float("nan"), _nan(0xFFF8000000000001))
    first, second, again = (hashable([_keys(nan)[place]])[0] for nan in nans)
    assert first == second == again and len({first: 1, second: 2, again: 3}) == 1
    assert stable_hash(first) == stable_hash(again) and type(first).__mro__[-2:] == type(again).__mro__[-2:]
    (sent,) = decode(encode(Chunk([1], None, [first]), []))
    assert isinstance(sent, Chunk) and {first: 1}[(sent.keys or [])[0]] == 1
    assert {first: 1}[pickle.loads(pickle.dumps(first))] == 1
    assert {first: 1}[stored(*store([first]))[0]] == 1 and stored(*store([1.5, first]))[1] == first
    assert part(first) == part(again) and not is_plain(first, part(first))


def test_it_is_a_number_like_every_nan() -> None:
    key = with_one_nan(float("nan"))
    assert type(key) is NanKey and math.isnan(key) and repr(key) == "nan" and math.isnan(key + 1) and key != 1.0
    assert with_one_nan(np.float64("nan")) == key and key != "nan" and key != (key,)


@pytest.mark.parametrize(
    "keys", [[1, "a", None, True], [1.5, -0.0], [("a", 1)], [(1.0, (2,))], [Row(1, 2.0)], [Place("a", 1.0)], []]
)
def test_other_keys_stay_the_very_same(keys: list[Any]) -> None:
    assert all(one is other for one, other in zip(one_nan(keys), keys)) and len(one_nan(keys)) == len(keys)


def test_minus_zero_and_zero_are_one_key() -> None:
    assert len(set(one_nan([0.0, -0.0]))) == 1 and stable_hash(0.0) == stable_hash(-0.0)


class CountByValue(KeyedProcessFunction):
    """(key, value) -> how often the value has come for the key, from map state that has the value as its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.FLOAT(), Types.INT()))

    def process_element(self, value: tuple[Any, float], ctx: KeyedProcessFunction.Context) -> Iterable[str]:
        before = self.seen.get(value[1]) if self.seen.contains(value[1]) else 0
        self.seen.put(value[1], before + 1)
        self.seen.put("gone" if before else value[1], before + 1)
        self.seen.remove("gone")
        yield f"{value[0]} {value[1]} {before + 1} of {len([*self.seen.keys()])}"


VALUES = [0.5, math.nan, math.inf, math.nan, 0.5, -math.inf, math.nan]


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_job_counts_them_together(on_disk: bool, parallelism: int) -> None:
    env = StreamExecutionEnvironment().set_parallelism(parallelism)
    if on_disk:
        env.set_state_backend(EmbeddedRocksDBStateBackend())
    rows = [(float(str(key)), float(str(value))) for key in VALUES for value in VALUES]
    out = run_locally(env.from_collection(rows).key_by(lambda row: (row[0],)).process(CountByValue())).collected
    counts: dict[tuple[str, str], int] = {}
    seen: dict[str, set[str]] = {}
    expected = []
    for key, value in ((str(key), str(value)) for key, value in rows):
        counts[key, value] = counts.get((key, value), 0) + 1
        seen.setdefault(key, set()).add(value)
        expected.append(f"{key} {value} {counts[key, value]} of {len(seen[key])}")
    assert sorted(out) == sorted(expected)


def test_a_map_view_has_one_entry() -> None:
    view: MapView[float, int] = MapView()
    view.put(_nan(), 1)
    view.put_all({_nan(): 2, 1.0: 3})
    assert view.contains(_nan()) and view.get(_nan()) == 2 and len([*view.keys()]) == 2
    view.remove(_nan())
    assert not view.contains(_nan())


def test_looking_costs_little_for_the_usual_keys() -> None:
    keys = [("a", n) for n in range(8192)]
    best = min(_timed(lambda: one_nan(keys)) for _ in range(20))
    plain = min(_timed(lambda: list(map(hash, keys))) for _ in range(20))
    assert best < 12 * plain  # about as much as to hash them


def _timed(do: Any) -> float:
    start = time.perf_counter()
    do()
    return time.perf_counter() - start
