"""``CEP``, which looks for a pattern in a stream, and ``PatternStream``, which processes the matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millrace.cep.dynamic_patterns import (
    DiscoveringSource,
    DynamicPatternStream,
    PatternProcessorDiscoverer,
    compare_of,
)
from millrace.cep.explanation import Explanation, PartialMatch
from millrace.cep.pattern import Pattern
from millrace.cep.pattern_parts import bound_pattern
from millrace.common.output_tag import OutputTag
from millrace.common.typeinfo import TypeInformation, Types
from millrace.datastream.data_stream import DataStream, KeyedStream
from millrace.datastream.handles import BroadcastStream, expect
from millrace.runtime.cep.compiler import compile_pattern
from millrace.runtime.cep.description import PatternDescription
from millrace.runtime.cep.functions import (
    EventComparator,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    Select,
    SelectOrTimeout,
)
from millrace.runtime.operators import specs

__all__ = ["PatternStream"]


class PatternStream:
    """A stream with a pattern to look for, made by ``CEP.pattern``; in event time by default.

    >>> matches = CEP.pattern(env.from_collection([1, 2]), Pattern.begin("a").next("b")).in_processing_time()
    >>> list(matches.flat_select(lambda match: [match["b"][0]]).execute_and_collect())
    [2]
    """

    def __init__(
        self,
        input: DataStream,
        pattern: PatternDescription,
        comparator: EventComparator | Callable[[Any, Any], int] | None = None,
        late_tag: OutputTag | None = None,
        event_time: bool = True,
    ) -> None:
        compile_pattern(pattern)
        self._input, self._pattern, self._late_tag, self._event_time = input, pattern, late_tag, event_time
        self._comparator = compare_of(comparator)

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> PatternStream:
        """Events behind the watermark go to a side output; else they are counted and dropped (metric
        ``numLateRecordsDropped``)."""
        expect(late_data_output_tag, OutputTag, "side_output_late_data()")
        return self._but(late_data_output_tag, self._event_time)

    def in_event_time(self) -> PatternStream:
        """Process events in the order of their timestamps, up to the watermark."""
        return self._but(self._late_tag, True)

    def in_processing_time(self) -> PatternStream:
        """Process events in the order of their arrival, with the time of the clock."""
        return self._but(self._late_tag, False)

    def _but(self, late_tag: OutputTag | None, event_time: bool) -> PatternStream:
        return PatternStream(self._input, self._pattern, self._comparator, late_tag, event_time)

    def process(
        self, pattern_process_function: PatternProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call the function for each match, and, if it is a TimedOutPartialMatchHandler, for what has timed out."""
        expect(pattern_process_function, PatternProcessFunction, "process() of a pattern stream")
        return self._add(pattern_process_function, output_type)

    def select(
        self,
        pattern_select_function: PatternSelectFunction | Callable[[dict[str, list[Any]]], Any],
        output_type: TypeInformation | None = None,
        timed_out_partial_matches_tag: OutputTag | None = None,
        pattern_timeout_function: PatternTimeoutFunction | Callable[[dict[str, list[Any]], int], Any] | None = None,
    ) -> DataStream:
        """One result per match; with a tag and a function, what has timed out becomes a side output."""
        select = pattern_select_function
        if not isinstance(select, PatternSelectFunction):
            select = _SelectFunction(_callable(select, "select()", PatternSelectFunction))
        timeout = pattern_timeout_function
        if timeout is not None and not isinstance(timeout, PatternTimeoutFunction):
            timeout = _TimeoutFunction(_callable(timeout, "select()", PatternTimeoutFunction))
        return self._select(select, output_type, timed_out_partial_matches_tag, timeout, "select()")

    def flat_select(
        self,
        pattern_flat_select_function: PatternFlatSelectFunction | Callable[[dict[str, list[Any]]], Any],
        output_type: TypeInformation | None = None,
        timed_out_partial_matches_tag: OutputTag | None = None,
        pattern_flat_timeout_function: PatternFlatTimeoutFunction
        | Callable[[dict[str, list[Any]], int], Any]
        | None = None,
    ) -> DataStream:
        """Any number of results per match; with a tag and a function, what has timed out becomes a side output."""
        select = pattern_flat_select_function
        if not isinstance(select, PatternFlatSelectFunction):
            select = _FlatSelectFunction(_callable(select, "flat_select()", PatternFlatSelectFunction))
        timeout = pattern_flat_timeout_function
        if timeout is not None and not isinstance(timeout, PatternFlatTimeoutFunction):
            timeout = _FlatTimeoutFunction(_callable(timeout, "flat_select()", PatternFlatTimeoutFunction))
        return self._select(select, output_type, timed_out_partial_matches_tag, timeout, "flat_select()")

    def _select(
        self,
        select: PatternSelectFunction | PatternFlatSelectFunction,
        output_type: TypeInformation | None,
        tag: OutputTag | None,
        timeout: PatternTimeoutFunction | PatternFlatTimeoutFunction | None,
        method: str,
    ) -> DataStream:
        if tag is None and timeout is None:
            return self._add(Select(select), output_type)
        expect(tag, OutputTag, f"the time-outs of {method}")
        if tag is None or timeout is None:
            raise TypeError(f"{method}: time-outs need a function and the tag of a side output")
        stream = self._add(SelectOrTimeout(select, timeout, tag), output_type)
        stream.get_side_output(tag)
        return stream

    def _add(self, function: PatternProcessFunction, output_type: TypeInformation | None) -> DataStream:
        tag = self._late_tag
        spec = specs.MatchPattern(
            self._pattern, function, self._event_time, self._comparator, None if tag is None else tag.tag_id
        )
        if isinstance(self._input, KeyedStream):
            stream = self._input._add("CepOperator", spec, output_type)
        else:
            stream = self._input.key_by(_one_key)._add("GlobalCepOperator", spec, output_type).force_non_parallel()
        if tag is not None:
            stream.get_side_output(tag)
        return stream


def _one_key(value: Any) -> int:
    return 0


def _callable(given: Any, method: str, kind: type) -> Callable[..., Any]:
    if not callable(given) or isinstance(given, type):
        raise TypeError(f"{method} of a pattern stream takes a {kind.__name__} or a function, not {given!r}")
    function: Callable[..., Any] = given
    return function


class _SelectFunction(PatternSelectFunction):
    def __init__(self, function: Callable[..., Any]) -> None:
        self.select = function  # type: ignore[method-assign]

    def select(self, match: dict[str, list[Any]]) -> Any:
        raise NotImplementedError


class _FlatSelectFunction(PatternFlatSelectFunction):
    def __init__(self, function: Callable[..., Any]) -> None:
        self.flat_select = function  # type: ignore[method-assign]

    def flat_select(self, match: dict[str, list[Any]]) -> Any:
        raise NotImplementedError


class _TimeoutFunction(PatternTimeoutFunction):
    def __init__(self, function: Callable[..., Any]) -> None:
        self.timeout = function  # type: ignore[method-assign]

    def timeout(self, match: dict[str, list[Any]], timeout_timestamp: int) -> Any:
        raise NotImplementedError


class _FlatTimeoutFunction(PatternFlatTimeoutFunction):
    def __init__(self, function: Callable[..., Any]) -> None:
        self.timeout = function  # type: ignore[method-assign]

    def timeout(self, match: dict[str, list[Any]], timeout_timestamp: int) -> Any:
        raise NotImplementedError


class CEP:
    """The entry point of complex event processing: look for patterns in streams, and explain them.

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
