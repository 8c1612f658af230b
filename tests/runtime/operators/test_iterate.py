"""``IterateOperator``: hands its input on, reads what was fed back, keeps the ends of its input until the loop ends."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

from millrace.common.typeinfo import Types
from millrace.runtime.elements import MAX_WATERMARK, Chunk, Status
from millrace.runtime.exchange.codec import encode
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.iteration import END_OF_TIME, IterateOperator
from millrace.testing import Element, EndInput, OperatorHarness, Record, Step, Watermark, WatermarkStep, check_variants
from millrace.testing.script import StatusStep


def make() -> OperatorHarness:
    return OperatorHarness(lambda: IterateOperator(None), channels=2)


def packet(elements: Iterable[tuple[object, int | None]]) -> bytes:
    values, timestamps = zip(*elements)
    return encode(Chunk(list(values), list(timestamps)), [])


def test_the_input_goes_on_but_its_end_does_not() -> None:
    script: list[Step] = [
        Element("a", 1),
        WatermarkStep(5),
        Element("b"),
        StatusStep(Status.IDLE),
        WatermarkStep(MAX_WATERMARK),
        EndInput(),
    ]
    one = check_variants(lambda: OperatorHarness(lambda: IterateOperator(None)), script)
    assert one.items == [Record("a", 1), Watermark(5), Record("b"), Status.IDLE, Status.ACTIVE]


def test_reads_all_that_was_fed_back_whatever_the_limit() -> None:
    with make() as harness:
        report = harness.read([packet([(n, n * 10) for n in range(50)]), packet([("x", None)])], False, records=1)
        assert harness.output == [Record(n, n * 10) for n in range(50)] + [Record("x")]
    assert (report.splits, report.finished) == ((), False)


@pytest.mark.parametrize("order", list(itertools.permutations(["input ends", "time may end", "loop ends"])))
def test_each_end_passes_when_both_have_it(order: tuple[str, ...]) -> None:
    """In whatever order the input and the driver come to it, with a restart between any two steps."""
    harness = make().open()
    done: set[str] = set()
    for step in order:
        if step == "input ends":
            harness.end_input()
        else:
            harness.read([END_OF_TIME] if step == "time may end" else [], step == "loop ends")
        done.add(step)
        found = harness.take_output()
        expected: list[object] = []
        if {"input ends", "time may end"} <= done and step != "loop ends":
            expected.append(Watermark(MAX_WATERMARK))
        if {"input ends", "loop ends"} <= done and step != "time may end":
            expected.append(Status.FINISHED)
        assert found == expected, (order, step)
        harness.end_epoch()
        following = harness.restored()
        harness.close()
        harness = following
    report = harness.read([], False)
    assert report.finished
    assert harness.output == []
    harness.close()


def test_elements_fed_back_between_the_two_ends() -> None:
    with make() as harness:
        harness.end_input()
        harness.read([packet([("late", 3)]), END_OF_TIME], False)
        report = harness.read([packet([("later", 4)])], False)
        assert not report.finished
        assert harness.output == [Record("late", 3), Watermark(MAX_WATERMARK), Record("later", 4)]


def test_what_comes_back_gets_the_type_of_the_loop() -> None:
    with OperatorHarness(lambda: IterateOperator(None), output_type=Types.FLOAT()) as harness:
        harness.read([packet([(1, None)])], False)
        assert [type(value) for value in harness.values] == [float]
        with pytest.raises(OperatorError, match="declared type") as caught:
            harness.read([packet([(2, None), ("three", None)])], False)
    assert caught.value.failure.element == "'three'"
