"""``CEP``: looking for a pattern in a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millrace.cep.conditions import bound_pattern
from millrace.cep.discoverers import DiscoveringSource, PatternProcessorDiscoverer
from millrace.cep.dynamic_stream import DynamicPatternStream, compare_of
from millrace.cep.explanation import Explanation, PartialMatch
from millrace.cep.pattern import Pattern
from millrace.cep.pattern_stream import PatternStream
from millrace.common.typeinfo import TypeInformation, Types
from millrace.datastream.broadcast_stream import BroadcastStream
from millrace.datastream.data_stream import DataStream, expect
from millrace.runtime.cep.functions import EventComparator

__all__ = ["CEP"]


class CEP:
    """The entrance.

        >>> pattern = Pattern.begin("small").where(SimpleCondition.of(lambda n: n < 5)).next("large").where(
        ...     SimpleCondition.of(lambda n: n > 5))
        >>> matches = CEP.pattern(env.from_collection([1, 9, 2, 3, 7]), pattern).in_processing_time()
        >>> list(matches.select(lambda match: (match["small"][0], match["large"][0])).execute_and_collect())
        [(1, 9), (3, 7)]
    """

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
        return PatternStream(input, bound_pattern(pattern.describe(), input.get_type), comparator)

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

    @staticmethod
    def explain(
        events: Iterable[Any],
        pattern: Pattern,
        timestamps: Callable[[Any], int],
        key_selector: Callable[[Any], Any] | None = None,
        key: Any = None,
        comparator: EventComparator | Callable[[Any, Any], int] | None = None,
        type_info: TypeInformation | None = None,
        until: int | None = None,
    ) -> Explanation:
        """What a pattern makes of the events of one key, step by step: its matches, which partial matches live, and why
        others ended. Runs here, without a job; ``print`` shows it.

        :param timestamps: gives the time of an event (ms).
        :param key_selector: with ``key``: only events of this key are looked at.
        :param type_info: of the events, for conditions that are expressions or SQL text.
        :param until: so far time passes after the last event (ms).
        """
        from millrace.cep.explaining import explained

        expect(pattern, Pattern, "CEP.explain()")
        described = bound_pattern(pattern.describe(), lambda: type_info or Types.PICKLED_BYTE_ARRAY())
        chosen = (event for event in events if key_selector is None or key_selector(event) == key)
        return explained(described, ((event, timestamps(event)) for event in chosen), compare_of(comparator), until)

    @staticmethod
    def partial_matches(stored: Any, pattern: Pattern) -> list[PartialMatch]:
        """The partial matches of one key in a savepoint.

        :param stored: the value of the key in the state ``partial-matches`` of the pattern's operator.
        :param pattern: the one whose matches they are; its conditions do not count.
        """
        from millrace.cep.explaining import partial_matches

        return partial_matches(pattern.describe(), stored)
