"""``PrintOperator`` and ``CollectOperator``."""

from __future__ import annotations

import threading

import pytest

from millrace.common.typeinfo import Types
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.sinks import CollectOperator, PrintOperator
from millrace.testing import Element, EpochEnd, OperatorHarness, Step, check_variants

SCRIPT: list[Step] = [Element("a", 1), Element(("b", 2)), EpochEnd(), Element(None)]


@pytest.mark.parametrize(
    ("identifier", "parallelism", "prefix"),
    [(None, 1, ""), ("id", 1, "id> "), (None, 2, "2> "), ("id", 2, "id:2> ")],
)
def test_print(identifier: str | None, parallelism: int, prefix: str) -> None:
    def make() -> OperatorHarness:
        return OperatorHarness(
            lambda: PrintOperator(identifier, None), parallelism=parallelism, subtask=parallelism - 1
        )

    outcome = check_variants(make, SCRIPT, [])
    assert outcome.printed == [prefix + text for text in ("a", "('b', 2)", "None")]


def test_print_of_a_typed_stream_looks_as_in_flink() -> None:
    element_type = Types.TUPLE([Types.STRING(), Types.INT()])
    outcome = check_variants(
        lambda: OperatorHarness(lambda: PrintOperator(None, element_type)), [Element(("a", 1)), Element(("b", None))]
    )
    assert outcome.printed == ["(a,1)", "(b,null)"]


def test_collect() -> None:
    outcome = check_variants(lambda: OperatorHarness(CollectOperator), SCRIPT, [])
    assert outcome.collected == ["a", ("b", 2), None]


def test_what_cannot_travel_is_named() -> None:
    lock = threading.Lock()
    with OperatorHarness(CollectOperator) as harness, pytest.raises(OperatorError, match="to send results") as caught:
        harness.process_elements([(1, None), (lock, None)])
    assert "lock" in (caught.value.failure.element or "")
