"""Values survive their way through JSON, with their types."""

from __future__ import annotations

import collections
import datetime
import json
import math
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from millrace.common.types import Row, RowKind
from millrace.testing.recording.events import RecordingError, decode, encode


@dataclass(frozen=True)
class Reading:
    car: int
    at: datetime.datetime


class Point(NamedTuple):
    x: float
    y: tuple[int, ...]


class Opaque:
    pass


VALUES = [
    *(None, True, 0, -(2**70), 1.5, math.inf, "", "$tuple", "ü\n"),
    *([], [1, [2]], (), (1, (2, "a")), {}, {"a": 1}, {"$a": 1}, {1: "a", ("b", 2): None}),
    *(b"\x00\xff", Decimal("1.10"), {1, 2}, frozenset({"a"})),
    *(datetime.date(2026, 1, 2), datetime.time(1, 2, 3, 4), datetime.timedelta(-1, 2, 3)),
    datetime.datetime(2026, 1, 2, 3, 4, 5, 6),
    datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    pd.Timestamp("2026-01-02T03:04:05.123456789"),
    *(np.float32(0.1), np.int64(7), np.bool_(True)),
    *(Row(), Row(1, "a"), Row(a=1, b=Row(2)), Row.of_kind(RowKind.DELETE, 1), Row.of_kind(RowKind.UPDATE_AFTER, a=[1])),
    *(Reading(1, datetime.datetime(2026, 1, 1)), Point(1.0, (2,)), [{"deep": (Point(0.0, ()),)}]),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back(value: Any) -> None:
    back = decode(json.loads(json.dumps(encode(value))))
    assert back == value
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_nan_comes_back() -> None:
    assert math.isnan(decode(json.loads(json.dumps(encode([math.nan]))))[0])


def test_equal_sets_have_one_text() -> None:
    assert encode({"a", "b", "c"}) == encode({"c", "b", "a"})


@pytest.mark.parametrize("value", [Opaque(), [Opaque()], object(), Path("a"), lambda: 1, collections.Counter("a")])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(RecordingError, match="can't be recorded"):
        encode(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ({"$pickle": ""}, r"\$pickle is no kind of value"),
        ({"$object": "os:path", "fields": {}}, "no dataclass or named tuple path"),
        ({"$object": "no.such.module:A", "fields": {}}, "no dataclass"),
        ({"$object": f"{__name__}:Opaque", "fields": {}}, "no dataclass"),
        ({"$object": f"{__name__}:Point", "fields": {"x": 1.0}}, "no dataclass or named tuple Point"),
        ({"$object": f"{__name__}:Point.__init__", "fields": {"x": 1.0, "y": []}}, "no dataclass"),
    ],
)
def test_what_is_read_makes_no_other_objects(text: Any, says: str) -> None:
    with pytest.raises(RecordingError, match=says):
        decode(text)


def test_no_module_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "surprise.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RecordingError):
        decode({"$object": "surprise:A", "fields": {}})


def test_constructors_are_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Loud:
        a: int

        def __post_init__(self) -> None:
            raise AssertionError("called")

    module = ModuleType("loud")
    vars(module)["Loud"] = Loud
    monkeypatch.setitem(sys.modules, "loud", module)
    assert decode({"$object": "loud:Loud", "fields": {"a": 1}}).a == 1
