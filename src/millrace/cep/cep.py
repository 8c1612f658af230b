"""``CEP``: looking for a pattern in a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from millrace.cep.conditions import UnboundCondition
from millrace.cep.discoverers import DiscoveringSource, PatternProcessorDiscoverer
from millrace.cep.dynamic_stream import DynamicPatternStream, compare_of
from millrace.cep.pattern import Pattern
from millrace.cep.pattern_stream import PatternStream
from millrace.datastream.broadcast_stream import BroadcastStream
from millrace.datastream.data_stream import DataStream, expect
from millrace.runtime.cep.functions import EventComparator
from millrace.runtime.cep.numbering import conditions_of

__all__ = ["CEP"]


class CEP:
    """The entrance."""

    @staticmethod
    def pattern(
        input: DataStream,
        pattern: Pattern,
        comparator: EventComparator | Callable[[Any, Any], int] | None = None,
    ) -> PatternStream:
        """The matches of a pattern in a stream: in each key of a keyed one by itself, else in all of it.

        :param comparator: the order of events with the same timestamp; None: as they arrive.
        :raises MalformedPatternException: the pattern breaks a rule.
        """
        expect(input, DataStream, "CEP.pattern()")
        expect(pattern, Pattern, "CEP.pattern()")
        described = pattern.describe()
        if any(isinstance(each, UnboundCondition) for each in conditions_of(described.steps)):
            from millrace.cep.expressions import bound  # only those who use expressions need what computes them

            described = bound(described, input.get_type())
        return PatternStream(input, described, comparator)

    @staticmethod
    def dynamic_patterns(
        input: DataStream,
        patterns: DataStream | BroadcastStream | PatternProcessorDiscoverer,
        conditions: Mapping[str, Any] | None = None,
        comparator: EventComparator | Callable[[Any, Any], int] | None = None,
    ) -> DynamicPatternStream:
        """The matches of several patterns, which are data and may change while the job runs.

        :param patterns: a stream of ``PatternProcessor`` (or of rows, objects or JSON with id, version, pattern and
            function), or a discoverer that is asked for all of them again and again.
        :param conditions: what the patterns' conditions of the type CLASS may name.
        """
        expect(input, DataStream, "CEP.dynamic_patterns()")
        if isinstance(patterns, BroadcastStream):
            patterns = patterns.input_stream
        elif isinstance(patterns, PatternProcessorDiscoverer):
            patterns = input._env.add_source(DiscoveringSource(patterns), "Patterns")
        expect(patterns, DataStream, "the patterns of CEP.dynamic_patterns()")
        return DynamicPatternStream(input, patterns, conditions or {}, compare_of(comparator))
