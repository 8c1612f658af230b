"""Harnesses for CEP patterns, fixed and dynamic."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from millrace.cep import DynamicPatternStream, EventComparator, Pattern, PatternProcessFunction
from millrace.common.output_tag import OutputTag
from millrace.runtime.operators import specs
from millrace.runtime.operators.making import make_operator
from millrace.testing.harness import OperatorHarness, Selector
from millrace.util.by_value import pickled_by_value


def pattern_harness(
    pattern: Pattern,
    function: PatternProcessFunction,
    key_selector: Selector | None = None,
    *,
    event_time: bool = True,
    comparator: EventComparator | None = None,
    late_tag: OutputTag | None = None,
    batch: bool = False,
    **settings: Any,
) -> OperatorHarness:
    """A harness round the operator in which ``CEP.pattern(stream, pattern, comparator).process(function)`` would run.

    Without ``key_selector`` the stream has no keys. Late events are in ``side_output(late_tag)`` or, without a tag, in
    ``counter("numLateRecordsDropped")``. ``settings`` are those of ``OperatorHarness``.
    """
    compare = None if comparator is None else comparator.compare
    tag = None if late_tag is None else late_tag.tag_id
    payload = pickled_by_value(specs.MatchPattern(pattern.describe(), function, event_time, compare, tag))
    selector = key_selector if key_selector is not None else lambda value: 0
    return OperatorHarness(lambda: make_operator(pickle.loads(payload), batch), key_selectors=[selector], **settings)


def dynamic_pattern_harness(
    stream: DynamicPatternStream,
    functions: PatternProcessFunction | Mapping[str, PatternProcessFunction],
    key_selector: Selector | None = None,
    *,
    batch: bool = False,
    **settings: Any,
) -> OperatorHarness:
    """A harness round the operator in which ``stream.process(functions)`` would run; input 1 takes the messages about
    patterns."""
    payload = pickled_by_value(stream.describe(functions))
    selector = key_selector if key_selector is not None else lambda value: 0
    return OperatorHarness(
        lambda: make_operator(pickle.loads(payload), batch), inputs=2, key_selectors=[selector, None], **settings
    )
