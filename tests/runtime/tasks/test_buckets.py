from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import decode, decode_columns, encode
from millrace.runtime.tasks import batch_input
from millrace.runtime.tasks.batch_input import BUCKETS, ENVIRONMENT, Buckets, Part, scratch_file


def filled(level: int, keys: list[Any], inputs: int = 1) -> Buckets:
    """Elements (key, number), in chunks of 100; the inputs take turns by chunk."""
    cut = Buckets(level, keys[:100])
    for number, start in enumerate(range(0, len(keys), 100)):
        part = keys[start : start + 100]
        chunk = Chunk([(key, start + i) for i, key in enumerate(part)], list(range(len(part))), part)
        cut.add(number % inputs, decode_columns(encode(chunk, []))[0], 1)
    return cut


def elements(part: Part) -> Iterator[tuple[int, Any, Any]]:
    """(input, key, value)"""
    for input, payload in part.payloads():
        for chunk in decode(payload):
            assert isinstance(chunk, Chunk) and chunk.timestamps is not None
            assert len(chunk.timestamps) == len(chunk)
            yield from ((input, key, value) for key, value in zip(chunk.keys or (), chunk.values))


@pytest.fixture(params=[10, 1_000_000])
def flush_at(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_input, "FLUSH_ELEMENTS", request.param)


@pytest.mark.usefixtures("flush_at")
@pytest.mark.parametrize("level", [0, 1])
def test_all_comes_back_and_no_key_is_in_two_parts(level: int) -> None:
    keys = [f"key {number % 500}" for number in range(5_000)]
    cut = filled(level, keys, inputs=2)
    seen: set[str] = set()
    everything = []
    parts = list(cut.parts())
    assert BUCKETS // 2 < len(parts) <= BUCKETS and not any(part.one_key for part in parts)
    for part in parts:
        found = list(elements(part))
        assert [input for input, _, _ in found] == sorted(input for input, _, _ in found)
        for input in (0, 1):
            numbers = [value[1] for its, _, value in found if its == input]
            assert numbers == sorted(numbers), "in the order of arrival"
        of_part = {key for _, key, _ in found}
        assert not of_part & seen
        seen |= of_part
        everything += [value for _, _, value in found]
    assert sorted(everything) == sorted((key, number) for number, key in enumerate(keys))
    cut.close()


def test_every_level_cuts_by_another_hash() -> None:
    [part, *_] = filled(0, list(range(10_000))).parts()
    keys = [key for _, key, _ in elements(part)]
    assert len(list(filled(1, keys).parts())) > BUCKETS // 2


def test_a_key_with_many_elements_gets_a_part_of_its_own() -> None:
    keys = ["heavy" if number % 4 == 0 else f"key {number}" for number in range(2_000)]
    parts = list(filled(0, keys).parts())
    assert [part.one_key for part in parts] == [False] * (len(parts) - 1) + [True]
    assert {key for _, key, _ in elements(parts[-1])} == {"heavy"}


def test_equal_keys_of_different_types_are_one_key() -> None:
    keys = [1, 1.0, True, *(number / 7 for number in range(1, 100) if number != 7)]
    [home] = [part for part in filled(0, keys).parts() if any(key == 1 for _, key, _ in elements(part))]
    assert [type(key) for _, key, _ in elements(home) if key == 1] == [int, float, bool]


def test_files_lie_where_spark_has_its_own_and_leave_no_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv(ENVIRONMENT, f"/nowhere,{tmp_path}")
    with scratch_file() as file:
        file.write(b"x")
        assert os.fstat(file.fileno()).st_dev == os.stat(tmp_path).st_dev
        assert os.listdir(tmp_path) == []
    monkeypatch.delenv(ENVIRONMENT)
    with scratch_file() as file:
        file.write(b"x")
