"""``fold``: many values made one, beginning with a value of the program's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from millrace.common.functions import AggregateFunction, KeyedProcessFunction
from millrace.common.state import ValueStateDescriptor
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.window import MergingWindowAssigner
from millrace.datastream.data_stream import DataStream, KeyedStream
from millrace.legacy.streams.functions import FoldFunction
from millrace.legacy.telling import tell

__all__ = ["fold"]

_Step = Callable[[Any, Any], Any]


def fold(
    stream: Any,
    initial_value: Any,
    func: FoldFunction | _Step,
    window_function: Any = None,
    output_type: TypeInformation | None = None,
) -> DataStream:
    """Fold the elements of each key, with the result so far after each of them, or those of each window.

    :param window_function: of windows: gets the result only.
    """
    step = _step(func)
    if isinstance(stream, KeyedStream):
        tell("KeyedStream.fold()", "reduce(), or process() with a ValueState")
        if window_function is not None:
            raise TypeError("fold() on a keyed stream takes no window function: call window() before")
        return stream.process(RunningFold(initial_value, step), output_type).name("Fold")
    tell("WindowedStream.fold()", "aggregate() with an AggregateFunction")
    if isinstance(stream._assigner, MergingWindowAssigner):
        raise TypeError("fold() can't merge windows: session windows take aggregate() with an AggregateFunction")
    folding = WindowFold(initial_value, step)
    made: DataStream = stream.aggregate(folding, window_function, Types.PICKLED_BYTE_ARRAY(), output_type)
    return made


def _step(func: Any) -> _Step:
    if isinstance(func, FoldFunction):
        return func.fold
    if callable(func):
        return func  # type: ignore[no-any-return]
    raise TypeError(f"fold() takes a FoldFunction or a function of two arguments, not {type(func).__name__}")


class RunningFold(KeyedProcessFunction):
    """The fold of all elements of a key so far."""

    def __init__(self, initial_value: Any, step: _Step) -> None:
        self._initial, self._step = initial_value, step

    def open(self, runtime_context: Any) -> None:
        self._so_far = runtime_context.get_state(ValueStateDescriptor("fold", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        before = self._so_far.value()
        # In a list: the result of a fold may be None.
        after = self._step(copy.deepcopy(self._initial) if before is None else before[0], value)
        self._so_far.update([after])
        yield after


class WindowFold(AggregateFunction):
    """The fold of the elements of a window."""

    def __init__(self, initial_value: Any, step: _Step) -> None:
        self._initial, self._step = initial_value, step

    def create_accumulator(self) -> Any:
        return copy.deepcopy(self._initial)

    def add(self, value: Any, accumulator: Any) -> Any:
        return self._step(accumulator, value)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        raise TypeError("results of fold() can't be merged")
