"""Windows that are aggregated, with a look at what is held for them."""

from __future__ import annotations

from typing import Any

from tests.runtime.windows.windowing import Show, key_of

from millrace.datastream.functions import AggregateFunction
from millrace.testing import OperatorHarness


def rows(harness: OperatorHarness, state: str) -> dict[Any, Any]:
    """What a table holds."""
    table = harness.operator.keyed_state().table(state)
    return {} if table is None else dict(table.rows)


def windows(assigner: Any, aggregate: AggregateFunction, **settings: Any) -> OperatorHarness:
    return OperatorHarness.for_windows(assigner, Show(), aggregate=aggregate, key_selector=key_of, **settings)


def put(harness: OperatorHarness, count: int, keys: int, span: int) -> list[tuple[Any, int]]:
    """``count`` different elements in one chunk."""
    elements = [((number % keys, number), number * 7 % span) for number in range(count)]
    harness.process_elements(elements)
    return elements
