"""``CEP``, which looks for a pattern in a stream, and ``PatternStream``, which processes the matches; and patterns that
change while a job runs: ``PatternProcessor``, discoverers, and ``DynamicPatternStream``.

A processor is a pattern as data, with its id, its version and the function for its matches. Discoverers ask for all
patterns regularly. A ``DynamicPatternStream`` is a stream with the patterns of a second stream.
"""

from __future__ import annotations

import json
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from millrace.cep.explanation import Explanation, PartialMatch
from millrace.cep.json_conditions import Named, fields
from millrace.cep.pattern import Pattern
from millrace.cep.pattern_parts import UnboundCondition
from millrace.common.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    SourceFunction,
)
from millrace.common.functions.function_base import RuntimeContext
from millrace.common.output_tag import OutputTag
from millrace.common.time import Duration, TimeSpan, to_millis
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.types import Row
from millrace.common.watermark_strategy import WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from millrace.datastream.data_stream import ConnectedStreams, DataStream, KeyedStream
from millrace.datastream.handles import BroadcastStream, expect
from millrace.runtime.cep.automaton import conditions_of
from millrace.runtime.cep.compiler import compile_pattern
from millrace.runtime.cep.description import PatternDescription, PatternReader, PatternUpdate, PatternUpdates
from millrace.runtime.cep.functions import (
    EventComparator,
    Match,
    PatternContext,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    Results,
    Select,
    SelectOrTimeout,
    TimedOutPartialMatchHandler,
)
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.operators import specs
from millrace.util.secrets import mask_text

# Conditions


def bound_pattern(pattern: PatternDescription, type_info: Callable[[], TypeInformation]) -> PatternDescription:
    """The pattern with its expressions, if there are any, over events of a type."""
    if not any(isinstance(each, UnboundCondition) for each in conditions_of(pattern.steps)):
        return pattern
    from millrace.cep.expressions import bound  # only expressions need the Table API

    return bound(pattern, type_info())


# Patterns that change: functions by name


class NamedFunctions(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Calls the function that the matching pattern names."""

    def __init__(self, functions: Mapping[str, PatternProcessFunction]) -> None:
        self._functions = dict(functions)

    def open(self, runtime_context: RuntimeContext) -> None:
        for function in self._functions.values():
            function.open(runtime_context)

    def close(self) -> None:
        for function in self._functions.values():
            function.close()

    def process_match(self, match: Match, ctx: PatternContext) -> Results:
        return self._at_hand(ctx).process_match(match, ctx)

    def process_timed_out_match(self, match: Match, ctx: PatternContext) -> Results:
        function: Any = self._at_hand(ctx)
        if isinstance(function, TimedOutPartialMatchHandler):
            return function.process_timed_out_match(match, ctx)
        return None

    def _at_hand(self, ctx: Any) -> PatternProcessFunction:
        return self._functions[ctx.function_name()]


# Patterns as data

_FIELDS = ("id", "version", "pattern", "function")


class PatternProcessor:
    """One version of a pattern.

        >>> processor = PatternProcessor("large", 1, Pattern.begin("a").where("amount > 100"))
        >>> processor.get_id(), processor.get_version()
        ('large', 1)

    :param pattern: a Pattern or its text in JSON; None: the pattern is not looked for any more.
    :param function: the name of the function that hears of its matches, where there are several.
    :param conditions: names of the conditions, for a Pattern.
    :raises MalformedPatternException: a Pattern has a condition without a name.
    """

    def __init__(
        self,
        id: str,
        version: int,
        pattern: Pattern | str | Mapping[str, Any] | None,
        function: str | None = None,
        conditions: Named | None = None,
    ) -> None:
        if not isinstance(id, str) or not id:
            raise TypeError(f"the id of a pattern is a text, not {id!r}")
        if isinstance(version, bool) or not isinstance(version, int):
            raise TypeError(f"the version of pattern {id!r} is a whole number, not {version!r}")
        if function is not None and not isinstance(function, str):
            raise TypeError(f"the function of pattern {id!r} is given by its name, not as {function!r}")
        if isinstance(pattern, Pattern):
            pattern = pattern.to_json(conditions)
        elif isinstance(pattern, Mapping):
            pattern = json.dumps(pattern)
        elif pattern is not None and not isinstance(pattern, str):
            raise TypeError(f"pattern {id!r} is a Pattern or JSON, not {pattern!r}")
        self._update = PatternUpdate(id, version, pattern, function or "")

    def get_id(self) -> str:
        """The pattern's id: a higher version replaces the one with the same id."""
        return self._update.id

    def get_version(self) -> int:
        """The number of the version."""
        return self._update.version

    def get_pattern(self) -> str | None:
        """The pattern as JSON text."""
        return self._update.pattern

    def get_function(self) -> str | None:
        """The name of the function that gets the pattern's matches."""
        return self._update.function or None

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PatternProcessor) and self._update == other._update

    def __hash__(self) -> int:
        return hash(self._update)

    def __repr__(self) -> str:
        return f"PatternProcessor({self._update.id!r}, version {self._update.version})"


def updates_of(message: Any) -> PatternUpdates:
    """The processors in a message: it contains processors, or rows, objects or JSON with id, version, pattern and
    function.

    :raises ValueError: it is none of these.
    """
    if isinstance(message, PatternUpdates):
        return message
    return PatternUpdates((_processor(message)._update,))


def _processor(message: Any) -> PatternProcessor:
    if isinstance(message, PatternProcessor):
        return message
    if isinstance(message, (str, bytes)):
        message = json.loads(message)
    if isinstance(message, Row):
        named = message._fields is not None
        message = message.as_dict() if named else list(message)
    if isinstance(message, (tuple, list)) and len(message) in (len(_FIELDS) - 1, len(_FIELDS)):
        message = dict(zip(_FIELDS, message))
    given = fields(message, "a message about patterns", _FIELDS)
    try:
        return PatternProcessor(given["id"], given["version"], given.get("pattern"), given.get("function"))
    except KeyError as error:
        raise ValueError(f"a message about patterns has {', '.join(_FIELDS)}; {error} is missing") from None


# Discoverers

_EVERY = Duration.of_seconds(30)
_log = logging.getLogger(__name__)


class PatternProcessorDiscoverer(ABC):
    """Finds the present patterns. One subtask calls ``discover`` regularly.

        >>> class Fixed(PatternProcessorDiscoverer):
        ...     def discover(self):
        ...         return [PatternProcessor("large", 1, Pattern.begin("a").where("amount > 100"))]

    :param interval: from one call to the next.
    :param failures: number of consecutive calls that may fail before the job fails.
    """

    def __init__(self, interval: TimeSpan = _EVERY, failures: int = 10) -> None:
        self.interval_ms, self.failures = to_millis(interval), failures
        if self.interval_ms <= 0:
            raise ValueError(f"the interval of a discoverer is longer than 0, not {self.interval_ms} ms")

    @abstractmethod
    def discover(self) -> Iterable[Any]:
        """All patterns: processors, or rows, objects or JSON with id, version, pattern and function."""


class PeriodicPatternProcessorDiscoverer(PatternProcessorDiscoverer):
    """Calls a function that returns all patterns: those of a file, or of a table of any kind.

    >>> def discover():
    ...     return [PatternProcessor("large", 1, Pattern.begin("a").where("amount > 100"))]
    >>> discoverer = PeriodicPatternProcessorDiscoverer(discover, Time.minutes(1))
    """

    def __init__(self, discover: Callable[[], Iterable[Any]], interval: TimeSpan = _EVERY, failures: int = 10) -> None:
        super().__init__(interval, failures)
        self._discover = discover

    def discover(self) -> Iterable[Any]:
        return self._discover()


class JDBCPeriodicPatternProcessorDiscoverer(PatternProcessorDiscoverer):
    """Reads a table with the columns id, version, pattern and function of a database.

    >>> discoverer = JDBCPeriodicPatternProcessorDiscoverer("jdbc:sqlite:patterns.db", "patterns")
    """

    def __init__(
        self,
        url: str,
        table: str,
        user: str | None = None,
        password: str | None = None,
        interval: TimeSpan = _EVERY,
        failures: int = 10,
    ) -> None:
        super().__init__(interval, failures)
        from millrace.connectors.jdbc.jdbc_database import Database, parse_url
        from millrace.connectors.jdbc.jdbc_scan import Query
        from millrace.relational.rex import Field
        from millrace.relational.types import BigIntType, VarCharType

        text = VarCharType()
        columns = (Field("id", text), Field("version", BigIntType()), Field("pattern", text), Field("function", text))
        self._database, self._query = Database(*parse_url(url, user, password)), Query(table, columns)

    def discover(self) -> Iterable[Any]:
        for rows in self._query.batches(self._database):
            yield from zip(*(column.to_pylist() for column in rows.batch.columns))


class DiscoveringSource(SourceFunction[PatternUpdates], CheckpointedFunction):
    """Emits all patterns whenever they have changed, and once after a restart."""

    def __init__(self, discoverer: PatternProcessorDiscoverer) -> None:
        self._discoverer = discoverer

    def open(self, runtime_context: Any) -> None:
        self._ended = threading.Event()

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Does nothing: after a restart all patterns are emitted again, which changes nothing."""

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Does nothing: there is no state."""

    def run(self, ctx: SourceFunction.SourceContext[PatternUpdates]) -> None:
        told: PatternUpdates | None = None
        failed = 0
        while not self._ended.is_set():
            try:
                found = PatternUpdates(tuple(updates_of(each).updates[0] for each in self._discoverer.discover()), True)
                failed = 0
            except Exception as error:
                failed += 1
                if failed > self._discoverer.failures:
                    raise
                _log.warning("the patterns can't be read (%s in a row): %s", failed, mask_text(str(error)))
                found = told or PatternUpdates(())
            if found != told and not failed:
                with ctx.get_checkpoint_lock():
                    ctx.collect(found)
                told = found
            self._ended.wait(self._discoverer.interval_ms / 1000)

    def cancel(self) -> None:
        self._ended.set()


def all_patterns(*processors: PatternProcessor) -> PatternUpdates:
    """A message that contains all patterns, so that others are removed."""
    return PatternUpdates(tuple(each._update for each in processors), True)


# Streams

_QUIET = Duration.of_millis(1)


@dataclass(frozen=True)
class _Reader(PatternReader):
    """Parses patterns, whose conditions may use the program's named conditions and the fields of its events."""

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
        described = Pattern.from_json(update.pattern, self.conditions).describe()
        return bound_pattern(described, lambda: self.type_info)


class _NeverWaits(WatermarkGenerator):
    """A watermark generator for the patterns' stream, which never holds back the events."""

    stateless = True

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Does nothing: messages about patterns have no event time."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(MAX_WATERMARK - 1)


@dataclass(frozen=True, eq=False)
class DynamicPatternStream:
    """A stream with changing patterns, made by ``CEP.dynamic_patterns``; in event time by default.

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
        """Process events in the order of their timestamps, up to the watermark."""
        return replace(self, _event_time=True)

    def in_processing_time(self) -> DynamicPatternStream:
        """Process events in the order of their arrival, with the time of the clock."""
        return replace(self, _event_time=False)

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> DynamicPatternStream:
        """Events behind the watermark go to a side output; else they are counted and dropped."""
        expect(late_data_output_tag, OutputTag, "side_output_late_data()")
        return replace(self, _late_tag=late_data_output_tag)

    def side_output_refused_patterns(self, output_tag: OutputTag) -> DynamicPatternStream:
        """Send (id, version, reason) of unusable patterns to a side output, and continue with the version before;
        otherwise such a pattern fails the job."""
        expect(output_tag, OutputTag, "side_output_refused_patterns()")
        return replace(self, _refused_tag=output_tag)

    def finish_old_versions(self, finish: bool = True) -> DynamicPatternStream:
        """Let an old version of a pattern finish the matches that it has begun, without beginning new ones; otherwise
        its partial matches are dropped (metric ``numPartialMatchesDropped``)."""
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
        events = self._input if keyed else self._input.key_by(_same_key)
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

    def describe(self, functions: PatternProcessFunction | Mapping[str, PatternProcessFunction]) -> specs.MatchPatterns:
        """The operator that ``process`` adds to the program."""
        function, names = functions, frozenset[str]()
        if isinstance(functions, Mapping):
            for name, each in functions.items():
                expect(each, PatternProcessFunction, f"process() of a pattern stream, as {name!r}")
            function, names = NamedFunctions(functions), frozenset(functions)
        expect(function, PatternProcessFunction, "process() of a pattern stream")
        assert isinstance(function, PatternProcessFunction)
        late, refused = (None if tag is None else tag.tag_id for tag in (self._late_tag, self._refused_tag))
        reader = _Reader(dict(self._conditions), self._input.get_type(), names)
        return specs.MatchPatterns(reader, function, self._event_time, self._comparator, late, refused, self._finish)


def compare_of(comparator: EventComparator | Callable[[Any, Any], int] | None) -> Callable[[Any, Any], int] | None:
    """:raises TypeError: neither a comparator nor a function."""
    compare = comparator.compare if isinstance(comparator, EventComparator) else comparator
    if compare is not None and not callable(compare):
        raise TypeError(f"an EventComparator or a function of two events says their order, not {comparator!r}")
    return compare


def _same_key(value: Any) -> int:
    return 0


# A pattern in a stream


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
        from millrace.cep.explanation import explained

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
        from millrace.cep.explanation import partial_matches

        return partial_matches(pattern.describe(), stored)
