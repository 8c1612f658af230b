"""Checks user functions before anything runs, and adapts them to the runtime.

Rich functions on keyed streams become keyed process functions, so that they can use keyed state; window functions of
all kinds become a ``ProcessWindowFunction``; ``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` become reduce
functions on one field.

Aggregations work on tuples, lists, rows and plain values (position 0). Never in place: the argument may be state.
"""

from __future__ import annotations

import dis
import inspect
import logging
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any, Generic, TypeVar, cast

from millrace.common.functions import (
    AllWindowFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    WindowFunction,
)
from millrace.common.types import Row, row_of
from millrace.util.tracebacks import user_origin

# Checks

logger = logging.getLogger("millrace")


def refuse_generator(func: Any, method: str, where: str) -> None:
    """Raise an error for a function that yields where one value is expected.

    :param func: a function, or an object whose ``method`` it is.
    """
    if inspect.isgeneratorfunction(_called(func, method)):
        raise TypeError(
            f"{where} at {user_origin()} takes a function that returns one value, and this one yields: it would give "
            "a generator itself; flat_map() sends on what is yielded"
        )


def warn_of_nothing(func: Any, method: str, where: str) -> None:
    """Warn about a function that has neither ``yield`` nor a ``return`` with a value: it never emits a result."""
    found = _called(func, method)
    if isinstance(found, (FunctionType, MethodType)) and _gives_nothing(found):
        logger.warning(
            "%s at %s: its function returns and yields nothing, so there are 0 results: `return [...]`, or `yield`",
            where,
            user_origin(),
        )


def _called(func: Any, method: str) -> Any:
    return getattr(func, method, func)


def _gives_nothing(function: FunctionType | MethodType) -> bool:
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        return False
    before, returned = None, False
    for each in dis.get_instructions(function):
        if each.opname == "RETURN_CONST" and each.argval is not None:
            return False
        if each.opname == "RETURN_VALUE" and not _is_none(before):
            return False
        returned = returned or each.opname in ("RETURN_CONST", "RETURN_VALUE")
        before = each
    return returned  # one that only raises is not to return


def _is_none(instruction: dis.Instruction | None) -> bool:
    return instruction is not None and instruction.opname == "LOAD_CONST" and instruction.argval is None


# Keyed state in rich functions

F = TypeVar("F", bound=Function)


class Adapter(Generic[F]):
    """Opens and closes the adapted function."""

    def __init__(self, function: F) -> None:
        self.function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()


class KeyedMap(Adapter[MapFunction], KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return (self.function.map(value),)


class KeyedFlatMap(Adapter[FlatMapFunction], KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map(value)


class KeyedFilter(Adapter[FilterFunction], KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return (value,) if self.function.filter(value) else ()


class WithKey(KeyedProcessFunction):
    """Emits each element after its key: the result of collecting a keyed stream itself."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return (Row(f0=ctx.get_current_key(), f1=value),)


class _CoMap(Adapter[CoMapFunction]):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        return _none_is_nothing(self.function.map1(value))

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return _none_is_nothing(self.function.map2(value))


class CoMap(_CoMap, CoProcessFunction): ...


class KeyedCoMap(_CoMap, KeyedCoProcessFunction): ...


class _CoFlatMap(Adapter[CoFlatMapFunction]):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map1(value)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map2(value)


class CoFlatMap(_CoFlatMap, CoProcessFunction): ...


class KeyedCoFlatMap(_CoFlatMap, KeyedCoProcessFunction): ...


class KeyedCoProcess(Adapter[CoProcessFunction], KeyedCoProcessFunction):
    """A CoProcessFunction on keyed streams has keyed state and timers, too; it just need not have ``on_timer``."""

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.process_element1(value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.process_element2(value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        on_timer = getattr(self.function, "on_timer", None)
        return None if on_timer is None else cast("Iterable[Any] | None", on_timer(timestamp, ctx))


def _none_is_nothing(result: Any) -> Iterable[Any]:
    return () if result is None else (result,)


# Window functions

Anything = ProcessWindowFunction[Any, Any, Any, Any]


class EmitContents(Anything):
    """A window function that emits the window's content."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return elements


class Apply(Adapter[WindowFunction[Any, Any, Any, Any]], Anything):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return self.function.apply(key, context.window(), elements)


class ApplyAll(Adapter[AllWindowFunction[Any, Any, Any]], Anything):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return self.function.apply(context.window(), elements)


class ProcessAll(Adapter[ProcessAllWindowFunction[Any, Any, Any]], Anything):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return self.function.process(context, elements)

    def clear(self, context: Any) -> None:
        self.function.clear(context)


def keyed_window_function(function: Any) -> Anything | None:
    """Adapt a window function of a keyed stream; None for any other object."""
    if function is None:
        return EmitContents()
    if isinstance(function, WindowFunction):
        return Apply(function)
    return function if isinstance(function, ProcessWindowFunction) else None


def all_window_function(function: Any) -> Anything | None:
    """Adapt a window function of a stream without keys; None for any other object."""
    if function is None:
        return EmitContents()
    if isinstance(function, AllWindowFunction):
        return ApplyAll(function)
    return ProcessAll(function) if isinstance(function, ProcessAllWindowFunction) else None


# Aggregations

Position = int | str


class FieldReduce(ReduceFunction):
    """Replaces one field of the first record by ``combine`` of both fields."""

    def __init__(self, position: Position, combine: Callable[[Any, Any], Any]) -> None:
        self._position = check_position(position)
        self._combine = combine

    def reduce(self, value1: Any, value2: Any) -> Any:
        at = self._position
        if isinstance(value1, Row):
            return _with_row_field(value1, at, self._combine(value1[at], value2[at]))
        if isinstance(value1, (tuple, list)):
            index = _index(value1, at)
            fields = list(value1)
            fields[index] = self._combine(value1[index], value2[index])
            return _like(value1, fields)
        _only_field(at)
        return self._combine(value1, value2)


class FieldChoice(ReduceFunction):
    """Keeps the record whose field wins; on a tie the first."""

    def __init__(self, position: Position, wins: Callable[[Any, Any], bool]) -> None:
        self._position = check_position(position)
        self._wins = wins

    def reduce(self, value1: Any, value2: Any) -> Any:
        at = self._position
        if isinstance(value1, (tuple, list)):
            at = _index(value1, at)
        if isinstance(value1, (Row, tuple, list)):
            return value2 if self._wins(value2[at], value1[at]) else value1  # type: ignore[index]
        _only_field(at)
        return value2 if self._wins(value2, value1) else value1


def add(first: Any, second: Any) -> Any:
    return first + second


def smaller(first: Any, second: Any) -> Any:
    return second if second < first else first


def larger(first: Any, second: Any) -> Any:
    return second if second > first else first


def less_than(first: Any, second: Any) -> bool:
    return bool(first < second)


def greater_than(first: Any, second: Any) -> bool:
    return bool(first > second)


def check_position(position: Any) -> Position:
    """Raises ``TypeError`` for anything but an index or a field name."""
    if not isinstance(position, (int, str)) or isinstance(position, bool):
        raise TypeError(
            f"the field of sum, min, max, min_by and max_by is a position (int) or a name (str), "
            f"not {type(position).__name__}"
        )
    return position


def _index(value: tuple[Any, ...] | list[Any], position: Position) -> int:
    """The position of a field; tuples have names only if they are named tuples."""
    if isinstance(position, int):
        return position
    names: tuple[str, ...] = getattr(value, "_fields", ())
    if position not in names:
        raise TypeError(f"a {type(value).__name__} has no field {position!r}; name its position")
    return names.index(position)


def _only_field(position: Position) -> None:
    if position != 0:
        raise TypeError(f"a value that is no tuple, list or Row has only position 0, not {position!r}")


def _with_row_field(row: Row, position: Position, value: Any) -> Row:
    changed = row_of(list(row._values), row._fields, row.get_row_kind())
    changed[position] = value
    return changed


def _like(value: Any, fields: list[Any]) -> Any:
    if isinstance(value, list):
        return fields
    make = getattr(value, "_make", None)  # named tuples
    return tuple(fields) if make is None else make(fields)
