"""Functions of the user: base classes, and the decorators ``udf``, ``udtf``, ``udaf`` and ``udtaf``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any, TypeAlias

from millrace.relational.types import DataType, MapType, RowField, RowType
from millrace.table.expression_methods.expression import Expression
from millrace.table.expression_methods.expression_base import node_of
from millrace.table.functions.function_classes import (
    AggregateFunction,
    AsyncScalarFunction,
    DelegatingAsyncScalarFunction,
    DelegatingPandasAggregateFunction,
    DelegatingScalarFunction,
    DelegationTableFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    PandasAggregateFunctionWrapper,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    TypeLike,
    UserDefinedFunction,
)
from millrace.table.sql import nodes
from millrace.table.values.data_types import data_type_of
from millrace.util.fallback import takes_older_arguments

__all__ = [
    "FunctionContext",
    "AggregateFunction",
    "ScalarFunction",
    "TableFunction",
    "TableAggregateFunction",
    "AsyncScalarFunction",
    "udf",
    "udtf",
    "udaf",
    "udtaf",
    "DelegatingAsyncScalarFunction",
    "DelegatingPandasAggregateFunction",
    "DelegatingScalarFunction",
    "DelegationTableFunction",
    "ImperativeAggregateFunction",
    "PandasAggregateFunctionWrapper",
    "UserDefinedFunction",
]

Types: TypeAlias = "Sequence[DataType] | Sequence[str] | DataType | str | None"


class UserDefinedFunctionWrapper:
    """A function with its types and name. Call it with columns to get an expression."""

    def __init__(
        self, func: Any, input_types: Types, func_type: str, deterministic: bool | None = None, name: str | None = None
    ) -> None:
        if inspect.isclass(func):
            raise TypeError(f"a function is an instance, not a class: write {func.__name__}()")
        if not isinstance(func, UserDefinedFunction) and not callable(func):
            raise TypeError(f"neither a function nor callable: {func!r}")
        _check(func_type)
        own = func.is_deterministic() if isinstance(func, UserDefinedFunction) else None
        if None not in (deterministic, own) and deterministic != own:
            raise ValueError(f"deterministic={deterministic}, but is_deterministic() says {own}")
        self._func = func
        self._input_types = _types(input_types, "input_types")
        self._name = name or getattr(func, "__name__", None) or type(func).__name__
        self._deterministic = deterministic if deterministic is not None else own is not False
        self._func_type = func_type
        self._alias_names: tuple[str, ...] = ()

    def __call__(self, *args: Any) -> Expression[Any]:
        return Expression(nodes.GivenCall(self.name, tuple(map(node_of, args)), self))

    def alias(self, *alias_names: str) -> UserDefinedFunctionWrapper:
        """Name the columns of the result."""
        self._alias_names = alias_names
        return self

    def shown_name(self) -> str:
        return self._name

    # What the engines read.

    @property
    def name(self) -> str:
        return self._name

    @property
    def input_types(self) -> list[DataType] | None:
        """What arguments are cast to; None: as they are."""
        return self._input_types

    @property
    def deterministic(self) -> bool:
        return self._deterministic

    @property
    def vectorized(self) -> bool:
        """Takes and gives ``pandas.Series``."""
        return self._func_type == "pandas"

    @property
    def asynchronous(self) -> bool:
        return isinstance(self, UserDefinedAsyncScalarFunctionWrapper)

    @property
    def function(self) -> UserDefinedFunction:
        """The function as an instance of its base class."""
        func = self._func if isinstance(self._func, UserDefinedFunction) else self._create_delegate_function()
        assert isinstance(func, UserDefinedFunction)
        return func

    def _create_delegate_function(self) -> UserDefinedFunction:
        raise TypeError(f"{self._name} must be an instance of its base class, not a plain function")


class UserDefinedScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A scalar function."""

    def __init__(
        self,
        func: Any,
        input_types: Types,
        result_type: TypeLike | None,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        super().__init__(func, input_types, func_type, deterministic, name)
        self._result_type = _type(result_type, "result_type")

    @property
    def result_type(self) -> DataType:
        return self._result_type

    def _create_delegate_function(self) -> UserDefinedFunction:
        return DelegatingScalarFunction(self._func)


class UserDefinedAsyncScalarFunctionWrapper(UserDefinedScalarFunctionWrapper):
    """An asynchronous scalar function."""

    def _create_delegate_function(self) -> UserDefinedFunction:
        return DelegatingAsyncScalarFunction(self._func)


class UserDefinedTableFunctionWrapper(UserDefinedFunctionWrapper):
    """A table function."""

    def __init__(
        self,
        func: Any,
        input_types: Types,
        result_types: Types,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(func, input_types, "general", deterministic, name)
        self._row_type = _row_type(result_types)

    @property
    def row_type(self) -> RowType:
        """The columns that it makes, named f0, f1, ... unless a ROW type names them."""
        return self._row_type

    def _create_delegate_function(self) -> UserDefinedFunction:
        return DelegationTableFunction(self._func)


class UserDefinedAggregateFunctionWrapper(UserDefinedFunctionWrapper):
    """An aggregate function, or a table aggregate function."""

    def __init__(
        self,
        func: Any,
        input_types: Types,
        result_type: TypeLike | None,
        accumulator_type: TypeLike | None,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
        is_table_aggregate: bool = False,
    ) -> None:
        super().__init__(func, input_types, func_type, deterministic, name)
        if not isinstance(func, ImperativeAggregateFunction):
            if func_type == "general":
                raise TypeError(f"{self._name} must be an AggregateFunction; plain functions need func_type='pandas'")
        else:
            result_type = func.get_result_type() if result_type is None else result_type
            if accumulator_type is None and func_type == "general":
                accumulator_type = func.get_accumulator_type()
        self._result_type = _type(result_type, "result_type")
        if func_type == "pandas" and isinstance(self._result_type, MapType):
            raise TypeError(f"a pandas aggregate function cannot give {self._result_type}: use ARRAY or ROW")
        self._accumulator_type = None if accumulator_type is None else _type(accumulator_type, "accumulator_type")
        self._is_table_aggregate = is_table_aggregate

    @property
    def result_type(self) -> DataType:
        return self._result_type

    @property
    def accumulator_type(self) -> DataType | None:
        """None for a pandas function, which has none."""
        return self._accumulator_type

    @property
    def is_table_aggregate(self) -> bool:
        return self._is_table_aggregate

    def _create_delegate_function(self) -> UserDefinedFunction:
        return DelegatingPandasAggregateFunction(self._func)


@takes_older_arguments
def udf(
    f: Any = None,
    input_types: Types = None,
    result_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Make a scalar function of a function, lambda, callable object, partial, coroutine function, or an instance of
    ``ScalarFunction`` or ``AsyncScalarFunction``. Also a decorator.

        >>> twice = udf(lambda n: n * 2, result_type=DataTypes.BIGINT())
        >>> next(orders.select(twice(col("amount"))).execute().collect())
        <Row(2)>

    :param result_type: a DataType, or SQL text such as 'BIGINT'.
    :param func_type: 'pandas': arguments and result are ``pandas.Series``.
    """
    _check(func_type)

    def make(func: Any) -> UserDefinedScalarFunctionWrapper:
        if not _is_async(func):
            return UserDefinedScalarFunctionWrapper(func, input_types, result_type, func_type, deterministic, name)
        if func_type == "pandas":
            raise ValueError(
                "Async scalar functions do not support pandas func_type: they take single values. Leave it out"
            )
        return UserDefinedAsyncScalarFunctionWrapper(func, input_types, result_type, func_type, deterministic, name)

    return make if f is None else make(f)


@takes_older_arguments
def udtf(
    f: Any = None,
    input_types: Types = None,
    result_types: Types = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """Make a table function of anything that gives an iterable of rows. Also a decorator.

    >>> letters = udtf(lambda word: iter(word), result_types=[DataTypes.STRING()])
    >>> spelt = orders.join_lateral(letters(col("product")).alias("letter")).select(col("letter"))
    >>> next(spelt.execute().collect())
    <Row('i')>
    """

    def make(func: Any) -> UserDefinedTableFunctionWrapper:
        return UserDefinedTableFunctionWrapper(func, input_types, result_types, deterministic, name)

    return make if f is None else make(f)


@takes_older_arguments
def udaf(
    f: Any = None,
    input_types: Types = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Make an aggregate function of an ``AggregateFunction``, or with func_type='pandas' of a plain function on
    ``pandas.Series``. Also a decorator.

        >>> mean = udaf(lambda amounts: amounts.mean(), result_type=DataTypes.DOUBLE(), func_type="pandas")
    """
    return _aggregate(f, input_types, result_type, accumulator_type, func_type, deterministic, name, False)


@takes_older_arguments
def udtaf(
    f: Any = None,
    input_types: Types = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Make a table aggregate function of a ``TableAggregateFunction``. Also a decorator.

    >>> class Both(TableAggregateFunction):
    ...     def create_accumulator(self):
    ...         return [0]
    ...     def accumulate(self, accumulator, amount):
    ...         accumulator[0] += amount
    ...     def emit_value(self, accumulator):
    ...         yield Row("sum", accumulator[0])
    >>> both = udtaf(Both(), result_type="ROW<what STRING, n BIGINT>", accumulator_type="ARRAY<BIGINT>")
    >>> table = orders.flat_aggregate(both(col("amount")).alias("what", "n")).select(col("what"), col("n"))
    >>> list(table.execute().collect())
    [<Row('sum', 6)>]
    """
    return _aggregate(f, input_types, result_type, accumulator_type, func_type, deterministic, name, True)


def wrapped(function: Any) -> UserDefinedFunctionWrapper:
    """The wrapper of a function; an aggregate function needs none, it knows its types.

    :raises TypeError: a function whose types nobody knows.
    """
    if isinstance(function, UserDefinedFunctionWrapper):
        return function
    if isinstance(function, ImperativeAggregateFunction):
        make = udtaf if isinstance(function, TableAggregateFunction) else udaf
        found = make(function)
        assert isinstance(found, UserDefinedFunctionWrapper)
        return found
    raise TypeError(f"wrap {function!r} with udf() or udtf(), so that its types are known")


def _aggregate(f: Any, *rest: Any) -> Any:
    input_types, result_type, accumulator_type, func_type, deterministic, name, is_table_aggregate = rest
    _check(func_type)

    def make(func: Any) -> UserDefinedAggregateFunctionWrapper:
        return UserDefinedAggregateFunctionWrapper(
            func, input_types, result_type, accumulator_type, func_type, deterministic, name, is_table_aggregate
        )

    return make if f is None else make(f)


def _check(func_type: str) -> None:
    if func_type not in ("general", "pandas"):
        raise ValueError(f"The func_type must be one of 'general, pandas', got {func_type}.")


def _is_async(func: Any) -> bool:
    while isinstance(func, functools.partial):
        func = func.func
    called = func if inspect.isroutine(func) else type(func).__call__ if callable(func) else None
    return isinstance(func, AsyncScalarFunction) or inspect.iscoroutinefunction(called)


def _type(value: TypeLike | None, parameter: str) -> DataType:
    if not isinstance(value, (DataType, str)):
        raise TypeError(f"{parameter} is a DataType or SQL text such as 'BIGINT', not {value!r}")
    return data_type_of(value)


def _types(values: Types, parameter: str) -> list[DataType] | None:
    if values is None:
        return None
    if isinstance(values, RowType):
        return values.field_types()
    if isinstance(values, (DataType, str)):
        values = [values]  # type: ignore[assignment]
    return [_type(each, parameter) for each in values]  # type: ignore[union-attr]


def _row_type(values: Types) -> RowType:
    if isinstance(values, str):
        values = data_type_of(values)
    if isinstance(values, RowType):
        return values
    found = _types(values, "result_types")
    if not found:
        raise TypeError("result_types says what columns the function makes, e.g. ['BIGINT', 'STRING']")
    return RowType([RowField(f"f{index}", each) for index, each in enumerate(found)])
