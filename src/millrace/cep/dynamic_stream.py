"""``DynamicPatternStream``: a stream and the patterns that are looked for in it, as a second stream tells them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from millrace.cep.conditions import bound_pattern
from millrace.cep.json_conditions import Named
from millrace.cep.json_form import pattern_from_json
from millrace.cep.named_functions import NamedFunctions
from millrace.cep.pattern_processor import updates_of
from millrace.common.output_tag import OutputTag
from millrace.common.time import Duration
from millrace.common.typeinfo import TypeInformation
from millrace.common.watermark_strategy import WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from millrace.datastream.data_stream import ConnectedStreams, DataStream, KeyedStream, expect
from millrace.runtime.cep.description import PatternDescription
from millrace.runtime.cep.functions import EventComparator, PatternProcessFunction
from millrace.runtime.cep.updates import PatternReader, PatternUpdate, PatternUpdates
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.jobs import specs

__all__ = ["DynamicPatternStream"]

_QUIET = Duration.of_millis(1)


@dataclass(frozen=True)
class _Reader(PatternReader):
    """Reads patterns with the names that the program knows, over the fields of its events."""

    conditions: Named
    type_info: TypeInformation
    functions: frozenset[str]

    def updates(self, message: Any) -> PatternUpdates:
        return updates_of(message)

    def pattern(self, update: PatternUpdate) -> PatternDescription:
        assert update.pattern is not None
        if self.functions and update.function not in self.functions:
            raise ValueError(
                f"pattern {update.id!r}: the program has no function {update.function!r}; it has "
                f"{', '.join(sorted(self.functions))}"
            )
        described = pattern_from_json(update.pattern, self.conditions).describe()
        return bound_pattern(described, lambda: self.type_info)


class _NeverWaits(WatermarkGenerator):
    """Messages about patterns have no time that events would wait for."""

    stateless = True

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """The element says nothing of time."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(MAX_WATERMARK - 1)


@dataclass(frozen=True, eq=False)
class DynamicPatternStream:
    """Made by ``CEP.dynamic_patterns``; in event time, unless told otherwise.

        >>> texts = env.from_collection([])
        >>> stream = CEP.dynamic_patterns(env.from_collection([1, 9]), texts)
        >>> isinstance(stream, DynamicPatternStream)
        True
    """

    _input: DataStream
    _patterns: DataStream
    _conditions: Named
    _comparator: Callable[[Any, Any], int] | None = None
    _late_tag: OutputTag | None = None
    _refused_tag: OutputTag | None = None
    _event_time: bool = True
    _finish: bool = False

    def in_event_time(self) -> DynamicPatternStream:
        """Events are in the order of their timestamps, as far as the watermark allows."""
        return replace(self, _event_time=True)

    def in_processing_time(self) -> DynamicPatternStream:
        """Events are in the order in which they come, and have the time of the clock."""
        return replace(self, _event_time=False)

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> DynamicPatternStream:
        """Events behind the watermark go to a side output; else they are counted and dropped."""
        expect(late_data_output_tag, OutputTag, "side_output_late_data()")
        return replace(self, _late_tag=late_data_output_tag)

    def side_output_refused_patterns(self, output_tag: OutputTag) -> DynamicPatternStream:
        """(id, version, reason) of patterns that can't be used go to a side output, and the version before goes on;
        else such a pattern is a failure of the job."""
        expect(output_tag, OutputTag, "side_output_refused_patterns()")
        return replace(self, _refused_tag=output_tag)

    def finish_old_versions(self, finish: bool = True) -> DynamicPatternStream:
        """An old version of a pattern begins nothing any more, but finishes the matches that it has begun; else its
        partial matches are dropped (metric ``numPartialMatchesDropped``)."""
        return replace(self, _finish=finish)

    def process(
        self,
        functions: PatternProcessFunction | Mapping[str, PatternProcessFunction],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call the function for each match; ``ctx.pattern_id()`` and ``ctx.pattern_version()`` say of what.

        :param functions: one for all patterns, or several by the names that the patterns give.
        """
        keyed = isinstance(self._input, KeyedStream)
        events = self._input if keyed else self._input.key_by(_one_key)
        strategy = WatermarkStrategy.for_generator(_NeverWaits).with_idleness(_QUIET)
        messages = self._patterns.assign_timestamps_and_watermarks(strategy).broadcast()
        name = "DynamicCepOperator" if keyed else "GlobalDynamicCepOperator"
        stream = ConnectedStreams(events, messages)._add(name, self.describe(functions), output_type)
        if not keyed:
            stream = stream.force_non_parallel()
        for tag in (self._late_tag, self._refused_tag):
            if tag is not None:
                stream.get_side_output(tag)
        return stream

    def describe(
        self, functions: PatternProcessFunction | Mapping[str, PatternProcessFunction]
    ) -> specs.MatchPatterns:
        """What ``process`` adds to the program."""
        function, names = functions, frozenset[str]()
        if isinstance(functions, Mapping):
            for name, each in functions.items():
                expect(each, PatternProcessFunction, f"process() of a pattern stream, as {name!r}")
            function, names = NamedFunctions(functions), frozenset(functions)
        expect(function, PatternProcessFunction, "process() of a pattern stream")
        assert isinstance(function, PatternProcessFunction)
        late, refused = (None if tag is None else tag.tag_id for tag in (self._late_tag, self._refused_tag))
        reader = _Reader(dict(self._conditions), self._input.get_type(), names)
        return specs.MatchPatterns(
            reader, function, self._event_time, self._comparator, late, refused, self._finish
        )


def compare_of(comparator: EventComparator | Callable[[Any, Any], int] | None) -> Callable[[Any, Any], int] | None:
    """:raises TypeError: neither a comparator nor a function."""
    compare = comparator.compare if isinstance(comparator, EventComparator) else comparator
    if compare is not None and not callable(compare):
        raise TypeError(f"an EventComparator or a function of two events says their order, not {comparator!r}")
    return compare


def _one_key(value: Any) -> int:
    return 0
