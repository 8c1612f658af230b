"""``CloseWithOperator``: everything arrives, with its timestamp, in the packets of the acknowledgement."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import decode
from millrace.runtime.exchange.exchange import FLUSH_AT
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.iteration import CloseWithOperator
from millrace.testing import Element, EndInput, EpochEnd, OperatorHarness, Step, WatermarkStep, check_variants
from millrace.testing.script import Record


def make() -> OperatorHarness:
    return OperatorHarness(lambda: CloseWithOperator(7))


def test_elements_go_back_with_their_timestamps() -> None:
    script: list[Step] = [
        Element("a", 1),
        Element(("b", [2])),
        EpochEnd(),
        Element(None),
        WatermarkStep(5),
        Element("c", 9),
        EndInput(),
    ]
    outcome = check_variants(make, script)
    assert outcome.fed_back == [Record("a", 1), Record(("b", [2])), Record(None), Record("c", 9)]


@given(st.lists(st.tuples(st.integers(-5, 5), st.none() | st.integers(0, 9)), max_size=30))
def test_nothing_is_lost_and_the_order_stays(elements: list[tuple[int, int | None]]) -> None:
    outcome = check_variants(make, [Element(*element) for element in elements], [], random_runs=1)
    assert outcome.fed_back == [Record(*element) for element in elements]


def test_a_packet_gathers_small_chunks_and_ends_before_it_is_too_large() -> None:
    operator = CloseWithOperator(7)
    with OperatorHarness(lambda: operator) as harness:
        for _ in range(FLUSH_AT // 100 + 1):
            harness.process_elements([(0, None)] * 100)
        operator.end_epoch()
        packets = operator.take_packets()
    sizes = [len(chunk.values) for packet in packets for chunk in decode(packet) if isinstance(chunk, Chunk)]
    assert len(sizes) == 1 and sizes[0] >= FLUSH_AT
    assert operator.take_packets() == (), "each once"


def test_what_cannot_travel_is_named() -> None:
    lock: Any = threading.Lock()
    with OperatorHarness(lambda: CloseWithOperator(7)) as harness:
        harness.process_elements([(1, None), (lock, None)])
        with pytest.raises(OperatorError, match="to feed its elements back") as caught:
            harness.end_epoch()
    assert "lock" in (caught.value.failure.element or "")
