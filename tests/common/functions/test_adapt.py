"""Callables as functions."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest

from millrace.common.functions.callables import (
    as_co_group,
    as_filter,
    as_flat_map,
    as_join,
    as_key_selector,
    as_map,
    as_partitioner,
    as_reduce,
)
from millrace.datastream.functions import (
    CoGroupFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    JoinFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)

# adapter, contract, method, callable, arguments, result
CASES: list[tuple[Callable[[Any], Any], type, str, Callable[..., Any], tuple[Any, ...], Any]] = [
    (as_map, MapFunction, "map", lambda x: x + 1, (1,), 2),
    (as_flat_map, FlatMapFunction, "flat_map", lambda x: [x, x], (1,), [1, 1]),
    (as_filter, FilterFunction, "filter", lambda x: x % 2, (3,), True),
    (as_reduce, ReduceFunction, "reduce", lambda a, b: a - b, (5, 3), 2),
    (as_key_selector, KeySelector, "get_key", lambda x: x[0], ("ab",), "a"),
    (as_partitioner, Partitioner, "partition", lambda key, n: key % n, (7, 4), 3),
    (as_join, JoinFunction, "join", lambda a, b: a - b, (5, 3), 2),
    (as_co_group, CoGroupFunction, "co_group", lambda a, b: [*b, *a], ([1, 2], [3]), [3, 1, 2]),
]
ids = [case[1].__name__ for case in CASES]


@pytest.mark.parametrize(("adapt", "contract", "method", "func", "args", "result"), CASES, ids=ids)
def test_a_callable_is_wrapped(
    adapt: Callable[[Any], Any], contract: type, method: str, func: Any, args: tuple[Any, ...], result: Any
) -> None:
    adapted: Any = adapt(func)
    assert issubclass(type(adapted), contract)
    assert adapted.func is func
    copy = cloudpickle.loads(cloudpickle.dumps(adapted))
    outcome = getattr(copy, method)(*args)
    assert outcome == result
    assert type(outcome) is type(result)
    assert adapt(adapted) is adapted


@pytest.mark.parametrize(("adapt", "contract"), [case[:2] for case in CASES], ids=ids)
def test_anything_else_is_refused(adapt: Callable[[Any], Any], contract: type) -> None:
    name = contract.__name__
    with pytest.raises(TypeError, match=f"^The input must be a {name} or a callable function, not 3$"):
        adapt(3)
    with pytest.raises(TypeError, match=rf"not the class {name}: did you mean {name}\(\)\?$"):
        adapt(contract)


def test_a_class_that_is_no_function_is_a_callable_like_any_other() -> None:
    assert as_map(str).map(5) == "5"


def test_wrappers_of_importable_functions_pickle_plainly() -> None:
    assert pickle.loads(pickle.dumps(as_reduce(operator.add))).reduce(1, 2) == 3


def test_a_flat_join_function_is_taken_as_it_is() -> None:
    class Flat(FlatJoinFunction):
        def join(self, first: Any, second: Any) -> Any:
            return [first, second]

    flat = Flat()
    assert as_join(flat) is flat
    with pytest.raises(TypeError, match=r"FlatJoinFunction or a callable .* did you mean Flat\(\)\?$"):
        as_join(Flat)  # type: ignore[arg-type]
