"""``WindowedStream`` and ``AllWindowedStream``: streams whose elements are collected in windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.functions import (
    AggregateFunction,
    AllWindowFunction,
    CheckpointedFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from millrace.common.functions.callables import as_reduce
from millrace.common.output_tag import OutputTag
from millrace.common.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from millrace.common.time import TimeSpan, to_millis
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.window import Evictor, MergingWindowAssigner, Trigger, WindowAssigner
from millrace.datastream import function_adapters
from millrace.datastream.function_adapters import (
    FieldChoice,
    FieldReduce,
    Position,
    add,
    greater_than,
    larger,
    less_than,
    smaller,
)
from millrace.datastream.handles import checked_type, expect
from millrace.graph.program import GraphError
from millrace.runtime.operators import specs
from millrace.runtime.windows.slicing import CONTENTS, WindowStrategy
from millrace.util.fallback import HasOlderNames
from millrace.util.tracebacks import user_origin

if TYPE_CHECKING:
    from millrace.datastream.data_stream import DataStream, KeyedStream
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["AllWindowedStream", "WindowedStream"]

S = TypeVar("S", bound="_Windows[Any, Any]")
"""The class of the handle."""
F = TypeVar("F")
P = TypeVar("P")
"""The classes of window functions, without and with a context."""


class _Windows(HasOlderNames, ABC, Generic[F, P]):
    """What both handles share. Methods that set something change the handle and give it back, as in PyFlink."""

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any], method: str) -> None:
        expect(window_assigner, WindowAssigner, f"{method}()")
        self._keyed = keyed_stream
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._allowed_lateness = 0
        self._late_tag: OutputTag | None = None

    @abstractmethod
    def _adapted(self, window_function: Any) -> function_adapters.Anything | None:
        """The function in the form that the runtime calls; None if this kind of stream does not accept it."""

    @abstractmethod
    def _expected(self) -> str:
        """The kinds of window functions that this kind of stream accepts, for messages."""

    _non_parallel = False
    _late_element: Callable[[Any], Any] | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._keyed.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """The type of the elements in the windows."""
        return self._keyed.get_type()

    def trigger(self: S, trigger: Trigger[Any, Any]) -> S:
        """When windows are evaluated, in place of the assigner's own trigger.

        >>> windows = env.from_collection([1]).key_by(lambda n: n).window(GlobalWindows.create())
        >>> sums = windows.trigger(PurgingTrigger.of(CountTrigger.of(3))).reduce(lambda x, y: x + y)
        """
        expect(trigger, Trigger, "trigger()")
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise TypeError(
                f"trigger() at {user_origin()}: {type(self._assigner).__name__} merges windows, and "
                f"{type(trigger).__name__} can't be merged; its can_merge() must be True and on_merge() be there"
            )
        self._trigger = trigger
        return self

    def evictor(self: S, evictor: Evictor[Any, Any]) -> S:
        """What leaves a window before or after it is evaluated. Elements are then kept, not folded.

        >>> windows = env.from_collection([1]).key_by(lambda n: n).window(GlobalWindows.create())
        >>> sums = windows.trigger(CountTrigger.of(1)).evictor(CountEvictor.of(2)).reduce(lambda x, y: x + y)
        """
        expect(evictor, Evictor, "evictor()")
        self._evictor = evictor
        return self

    def allowed_lateness(self: S, time_ms: int | TimeSpan) -> S:
        """How long (ms of event time) windows wait for late elements after they fired: each then fires them again.

        Processing time knows no late elements.

            >>> late = OutputTag("late", Types.INT())
            >>> minutes = TumblingEventTimeWindows.of(Time.minutes(1))
            >>> windows = env.from_collection([1]).key_by(lambda n: n).window(minutes)
            >>> sums = windows.allowed_lateness(30_000).side_output_late_data(late).reduce(lambda x, y: x + y)
        """
        lateness = time_ms if isinstance(time_ms, int) else to_millis(time_ms)
        if lateness < 0:
            raise ValueError(f"allowed_lateness() at {user_origin()}: must be 0 ms or more, not {lateness}")
        self._allowed_lateness = lateness
        return self

    def side_output_late_data(self: S, output_tag: OutputTag) -> S:
        """Send elements that are too late for all their windows to a side output; otherwise they are counted and
        dropped (metric ``numLateRecordsDropped``)."""
        expect(output_tag, OutputTag, "side_output_late_data()")
        self._late_tag = output_tag
        return self

    # -- what is done with a window -------------------------------------------------------------------------------

    def _reduce(
        self, reduce_function: Any, window_function: Any, output_type: TypeInformation | None, method: str = "reduce"
    ) -> DataStream:
        try:
            function = as_reduce(reduce_function)
        except TypeError as error:
            raise TypeError(f"{method}() at {user_origin()}: {error}") from None
        _refuse_operator_state(reduce_function, method)
        if window_function is None and output_type is None:
            output_type = self._keyed._type
        contents = ReducingStateDescriptor(CONTENTS, function, self.get_input_type())
        return self._add(method, contents, window_function, output_type, _name(reduce_function))

    def _aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: Any,
        accumulator_type: TypeInformation | None,
        output_type: TypeInformation | None,
    ) -> DataStream:
        expect(aggregate_function, AggregateFunction, "aggregate()")
        _refuse_operator_state(aggregate_function, "aggregate")
        stored_type = checked_type(accumulator_type) or Types.PICKLED_BYTE_ARRAY()
        contents = AggregatingStateDescriptor(CONTENTS, aggregate_function, stored_type)
        return self._add("aggregate", contents, window_function, output_type, _name(aggregate_function))

    def _evaluate(self, method: str, window_function: Any, output_type: TypeInformation | None) -> DataStream:
        if window_function is None:
            raise TypeError(f"{method}() at {user_origin()} takes {self._expected()}, not None")
        contents = ListStateDescriptor(CONTENTS, self.get_input_type())
        return self._add(method, contents, window_function, output_type, "")

    def _add(
        self,
        method: str,
        contents: StateDescriptor,
        window_function: Any,
        output_type: TypeInformation | None,
        folded_by: str,
    ) -> DataStream:
        function = self._adapted(window_function)
        if function is None:
            kind = window_function.__name__ if isinstance(window_function, type) else type(window_function).__name__
            raise TypeError(f"{method}() at {user_origin()} takes {self._expected()}, not {kind}")
        keyed = self._keyed
        trigger = self._trigger or self._assigner.get_default_trigger(keyed.get_execution_environment())
        strategy = WindowStrategy(
            assigner=self._assigner,
            trigger=trigger,
            contents=contents,
            evictor=self._evictor,
            allowed_lateness=self._allowed_lateness,
            late_tag=None if self._late_tag is None else self._late_tag.tag_id,
            late_element=self._late_element,
        )
        if self._late_tag is not None and not strategy.is_event_time:
            raise GraphError(
                f"{method}() at {user_origin()}: {type(self._assigner).__name__} goes by processing time, where no "
                f"element is late; side_output_late_data() needs windows in event time"
            )
        stream = keyed._add(type(self._assigner).__name__, specs.Window(strategy, function), output_type)
        stream._change(
            "window",
            description=_described(strategy, ", ".join(filter(None, (folded_by, _name(window_function))))),
            non_parallel=self._non_parallel,
        )
        if self._late_tag is not None:
            stream.get_side_output(self._late_tag)
        return stream

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: F | P | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Fold each window's elements into one as they come; ``window_function`` sees only that one."""
        return self._reduce(reduce_function, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: F | P | None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Fold each window's elements into an accumulator as they come; ``window_function`` sees its result only.

        >>> class Mean(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return 0, 0
        ...     def add(self, value, accumulator):
        ...         return accumulator[0] + value, accumulator[1] + 1
        ...     def get_result(self, accumulator):
        ...         return accumulator[0] / accumulator[1]
        ...     def merge(self, a, b):
        ...         return a[0] + b[0], a[1] + b[1]
        >>> numbers = env.from_collection([1, 2, 3, 6]).key_by(lambda n: "all")
        >>> list(numbers.count_window(4).aggregate(Mean()).execute_and_collect())
        [3.0]
        """
        return self._aggregate(aggregate_function, window_function, accumulator_type, output_type)

    def apply(self, window_function: F, output_type: TypeInformation | None = None) -> DataStream:
        """Keep each window's elements and call ``window_function`` with them.

        >>> class Size(WindowFunction):
        ...     def apply(self, key, window, inputs):
        ...         yield key, len(list(inputs))
        >>> words = env.from_collection(["a", "a"]).key_by(lambda word: word)
        >>> list(words.count_window(2).apply(Size()).execute_and_collect())
        [('a', 2)]
        """
        return self._evaluate("apply", window_function, output_type)

    def process(
        self,
        process_window_function: P,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Keep each window's elements and call ``process_window_function`` with them, with access to time and state.

        >>> class Span(ProcessWindowFunction):
        ...     def process(self, key, context, elements):
        ...         yield key, len(list(elements))
        >>> words = env.from_collection(["a", "b", "a"]).key_by(lambda word: word)
        >>> list(words.count_window(2).process(Span()).execute_and_collect())
        [('a', 2)]
        """
        return self._evaluate("process", process_window_function, output_type)

    # -- one field ------------------------------------------------------------------------------------------------

    def sum(self, position_to_sum: Position = 0) -> DataStream:
        """The sum of a field in each window; the other fields are those of the window's first element."""
        return self._reduce(FieldReduce(position_to_sum, add), None, None, "sum")

    def min(self, position_to_min: Position = 0) -> DataStream:
        """The minimum of a field in each window; the other fields are those of the window's first element."""
        return self._reduce(FieldReduce(position_to_min, smaller), None, None, "min")

    def max(self, position_to_max: Position = 0) -> DataStream:
        """The maximum of a field in each window; the other fields are those of the window's first element."""
        return self._reduce(FieldReduce(position_to_max, larger), None, None, "max")

    def min_by(self, position_to_min_by: Position = 0) -> DataStream:
        """The element with the smallest field in each window; the first one on a tie."""
        return self._reduce(FieldChoice(position_to_min_by, less_than), None, None, "min_by")

    def max_by(self, position_to_max_by: Position = 0) -> DataStream:
        """The element with the largest field in each window; the first one on a tie."""
        return self._reduce(FieldChoice(position_to_max_by, greater_than), None, None, "max_by")


class WindowedStream(_Windows[WindowFunction[Any, Any, Any, Any], ProcessWindowFunction[Any, Any, Any, Any]]):
    """A keyed stream in windows: every key has windows of its own. Made by ``KeyedStream.window``.

    >>> pairs = env.from_collection([("a", 1), ("a", 2)]).key_by(lambda pair: pair[0])
    >>> sums = pairs.window(CountTumblingWindowAssigner(2)).reduce(lambda x, y: (x[0], x[1] + y[1]))
    >>> list(sums.execute_and_collect())
    [('a', 3)]
    """

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(keyed_stream, window_assigner, "window")

    def _adapted(self, window_function: Any) -> function_adapters.Anything | None:
        return function_adapters.keyed_window_function(window_function)

    def _expected(self) -> str:
        return "a WindowFunction or a ProcessWindowFunction"


class AllWindowedStream(_Windows[AllWindowFunction[Any, Any, Any], ProcessAllWindowFunction[Any, Any, Any]]):
    """A stream without keys in windows, evaluated in one subtask. Made by ``DataStream.window_all``.

    >>> numbers = env.from_collection([1, 2, 3])
    >>> list(numbers.window_all(CountTumblingWindowAssigner(2)).reduce(lambda x, y: x + y).execute_and_collect())
    [3]
    """

    _non_parallel = True

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(data_stream.key_by(_one_key), window_assigner, "window_all")

    def _adapted(self, window_function: Any) -> function_adapters.Anything | None:
        return function_adapters.all_window_function(window_function)

    def _expected(self) -> str:
        return "an AllWindowFunction or a ProcessAllWindowFunction"


def _one_key(value: Any) -> int:
    return 0


def _refuse_operator_state(function: Any, method: str) -> None:
    if isinstance(function, CheckpointedFunction):
        raise TypeError(
            f"{method}() at {user_origin()}: {type(function).__name__} folds the elements of many keys and windows, so "
            f"its operator state would never be saved; make the window function a CheckpointedFunction instead"
        )


def _name(function: Any) -> str:
    if function is None:
        return ""
    return getattr(function, "__name__", type(function).__name__)


def _described(strategy: WindowStrategy, functions: str) -> str:
    parts = [repr(strategy.assigner), repr(strategy.trigger)]
    if strategy.evictor is not None:
        parts.append(repr(strategy.evictor))
    return f"Window({', '.join(parts)}, {functions})"
