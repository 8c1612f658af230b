"""Interval joins under test."""

from __future__ import annotations

import pickle
from typing import Any

from millrace.common.functions import ProcessJoinFunction
from millrace.common.output_tag import OutputTag
from millrace.common.time import TimeSpan, to_millis
from millrace.runtime.jobs import specs
from millrace.runtime.operators.making import make_operator
from millrace.testing.harness import OperatorHarness, Selector
from millrace.util.by_value import pickled_by_value


def interval_join_harness(
    function: ProcessJoinFunction,
    lower_bound: TimeSpan,
    upper_bound: TimeSpan,
    key_selector: Selector,
    key_selector2: Selector | None = None,
    *,
    left_late_tag: OutputTag | None = None,
    right_late_tag: OutputTag | None = None,
    **settings: Any,
) -> OperatorHarness:
    """A harness round the operator in which ``interval_join().between(...)`` with these bounds would run ``function``.

    Input 0 is the left stream, input 1 the right one; both bounds are inclusive. Without ``key_selector2`` both inputs
    use ``key_selector``. ``settings`` are those of ``OperatorHarness``.

        >>> class Pair(ProcessJoinFunction):
        ...     def process_element(self, left, right, ctx):
        ...         yield left, right
        >>> with interval_join_harness(Pair(), Time.seconds(-1), Time.seconds(1), lambda n: n) as harness:
        ...     harness.process_element(7, 1000, 0)
        ...     harness.process_element(7, 1500, 1)
        ...     print(harness.output)
        [Record(value=(7, 7), timestamp=1500)]
    """
    tags = [None if tag is None else tag.tag_id for tag in (left_late_tag, right_late_tag)]
    spec = specs.IntervalJoin(to_millis(lower_bound), to_millis(upper_bound), function, *tags)
    payload = pickled_by_value(spec)
    return OperatorHarness(
        lambda: make_operator(pickle.loads(payload), final=False),
        inputs=2,
        key_selectors=[key_selector, key_selector2 or key_selector],
        **settings,
    )
