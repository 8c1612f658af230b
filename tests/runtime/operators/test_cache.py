"""``CacheOperator``: hands everything on, and keeps it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.connectors.result_cache import CacheSink, ResultCache
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.sinks import CacheOperator
from millrace.testing import (
    Element,
    EndInput,
    OperatorHarness,
    Record,
    Status,
    StatusStep,
    Step,
    Watermark,
    WatermarkStep,
    check_variants,
)

SCRIPT: list[Step] = [
    Element("a", 1), WatermarkStep(5), Element("b"), StatusStep(Status.IDLE), StatusStep(Status.ACTIVE),
    Element("c", 7), WatermarkStep(6), EndInput(),
]  # fmt: skip


def caching(sink: CacheSink) -> OperatorHarness:
    return OperatorHarness(lambda: CacheOperator(sink))


@pytest.fixture
def sink(tmp_path: Path) -> CacheSink:
    """The files are there as long as it is."""
    return ResultCache(str(tmp_path)).sink()


def pairs(path: str) -> Iterator[tuple[Any, Any]]:
    with open(path, "rb") as file:
        while file.peek(1):
            values, timestamps = pickle.load(file)
            yield from zip(values, timestamps or [None] * len(values))


def test_everything_is_handed_on(sink: CacheSink) -> None:
    expected = [
        Record("a", 1), Watermark(5), Record("b"), Status.IDLE, Status.ACTIVE, Record("c", 7), Watermark(6),
        Watermark(2**63 - 1), Status.FINISHED,
    ]  # fmt: skip
    check_variants(lambda: caching(sink), SCRIPT, expected)


@pytest.mark.parametrize("restoring", [False, True])
@pytest.mark.parametrize("every", [1, 2, 100])
def test_everything_is_kept_once(sink: CacheSink, every: int, restoring: bool) -> None:
    harness = caching(sink).open()
    kept: list[Any] = []
    last = []
    for number, step in enumerate(SCRIPT, 1):
        if isinstance(step, Element):
            harness.process_element(step.value, step.timestamp)
        elif isinstance(step, EndInput):
            harness.end_input()
        if number % every == 0 or number == len(SCRIPT):
            harness.end_epoch()
            kept += harness.committables
            last += [part.last for part in harness.committables]
            harness.committables.clear()
            if restoring:
                harness = harness.restored()
    assert last == [False] * (len(last) - 1) + [True]
    assert [pair for part in kept if part.path for pair in pairs(part.path)] == [("a", 1), ("b", None), ("c", 7)]


def test_what_cannot_be_kept_is_an_error_of_the_operator(sink: CacheSink) -> None:
    with pytest.raises(OperatorError, match="cannot pickle 'generator'") as caught, caching(sink) as harness:
        harness.process_element(n for n in range(3))
    assert caught.value.failure.during == " to keep its elements"
