"""Keys to groups to subtasks: stable, true to equality, and a partition."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import math
import subprocess
import sys
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row
from millrace.runtime.exchange.keys import (
    UnstableKeyError,
    default_max_parallelism,
    group_range,
    key_group,
    stable_hash,
    subtask_of_group,
)


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Name(str, enum.Enum):
    ANN = "ann"


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: int
    note: str = dataclasses.field(default="", compare=False)


KEYS = """[
    "", "a", "ä\\ud800", 0, -1, 2**100, 1.5, float("inf"), None, True, b"x", (1, "a", (None,)), Row(a=1, b="x"),
    decimal.Decimal("1.5"), decimal.Decimal("NaN"), decimal.Decimal("-Infinity"), datetime.date(2024, 1, 2),
    datetime.datetime(2024, 1, 2, 3), datetime.time(4, 5), datetime.timedelta(1), uuid.UUID(int=7)
]"""


def test_the_same_in_every_process() -> None:
    code = (
        "import datetime, decimal, uuid; from millrace.common.types import Row; "
        f"from millrace.runtime.exchange.keys import stable_hash; print([stable_hash(k) for k in {KEYS}])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    names = {"datetime": datetime, "decimal": decimal, "uuid": uuid, "Row": Row}
    assert runs == {f"{[stable_hash(key) for key in eval(KEYS, names)]}\n"}


def test_the_same_for_ever() -> None:
    """State in savepoints lies by these numbers: they must never change."""
    assert [stable_hash(key) for key in ("a", 1, 1.5, None, (1, "a"))] == [
        3904355907, 2768625435, 1851714054, 1853189228, 3832400394
    ]  # fmt: skip
    assert [key_group(key, 128) for key in ("a", 1, 1.5, None, (1, "a"))] == [55, 20, 109, 120, 89]


EQUAL = [
    (1, 1.0, True, decimal.Decimal(1), decimal.Decimal("1.00"), Level.LOW),
    (0, -0.0, False, decimal.Decimal("-0")),
    (1.5, decimal.Decimal("1.5"), decimal.Decimal("1.50")),
    (float("inf"), decimal.Decimal("Infinity")),
    ("ann", Name.ANN),
    (10**30, decimal.Decimal(10) ** 30),
    ((1, 2), (1.0, True + 1)),
    (Point(1, 2), Point(1, 2, "noted")),
    (
        datetime.datetime(2024, 1, 2, 12, tzinfo=datetime.timezone.utc),
        datetime.datetime(2024, 1, 2, 14, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    ),
    (Row(a=1), Row(a=1.0)),
]


@pytest.mark.parametrize("keys", EQUAL, ids=lambda keys: repr(keys[0]))
def test_equal_keys_have_equal_hashes(keys: tuple[object, ...]) -> None:
    assert all(key == keys[0] for key in keys)
    assert len({stable_hash(key) for key in keys}) == 1


@given(st.integers() | st.floats(allow_nan=False) | st.decimals(allow_nan=False))
def test_equal_numbers_have_equal_hashes(number: int | float | decimal.Decimal) -> None:
    forms: list[object] = [number]
    if isinstance(number, (float, decimal.Decimal)) and math.isfinite(number):
        forms += [decimal.Decimal(number), int(number)] if abs(number) < 10**40 else [decimal.Decimal(number)]
    if abs(number) < 1e300:
        forms.append(float(number))
    assert len({stable_hash(form) for form in forms if form == number}) == 1


def test_different_enums_differ() -> None:
    class Other(enum.Enum):
        RED = 1

    assert stable_hash(Color.RED) != stable_hash(Other.RED)


@pytest.mark.parametrize("key", [frozenset([1]), object(), len, 1j, (1, object())])
def test_keys_without_a_stable_hash_are_refused(key: object) -> None:
    with pytest.raises(UnstableKeyError, match="no hash that is the same in every process"):
        stable_hash(key)


def test_a_class_can_bring_its_own_hash() -> None:
    class Mine:
        def __stable_hash__(self) -> int:
            return -1

    assert stable_hash(Mine()) == 0xFFFFFFFF


@given(st.integers(1, 300), st.integers(0, 300))
def test_ranges_partition_the_groups(max_parallelism: int, fewer: int) -> None:
    parallelism = max(1, max_parallelism - fewer)
    ranges = [group_range(subtask, max_parallelism, parallelism) for subtask in range(parallelism)]
    assert [group for groups in ranges for group in groups] == list(range(max_parallelism))
    for subtask, groups in enumerate(ranges):
        assert {subtask_of_group(group, max_parallelism, parallelism) for group in groups} == {subtask}
    sizes = [len(groups) for groups in ranges]
    assert max(sizes) - min(sizes) <= 1


def test_neighbouring_keys_spread_over_the_groups() -> None:
    for keys in (range(10_000), [f"user-{n}" for n in range(10_000)]):
        counts = [0] * 128
        for key in keys:
            counts[key_group(key, 128)] += 1
        assert 40 < min(counts) <= max(counts) < 130


@pytest.mark.parametrize(
    ("parallelism", "expected"), [(1, 128), (85, 128), (86, 256), (128, 256), (170, 256), (171, 256), (40_000, 32768)]
)
def test_default_max_parallelism_is_that_of_flink(parallelism: int, expected: int) -> None:
    assert default_max_parallelism(parallelism) == expected
