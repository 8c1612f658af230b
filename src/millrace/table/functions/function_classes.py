"""Base classes of the user's functions. Public through ``millrace.table.functions.udf``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from millrace.common.files.file_access import DistributedCache

if TYPE_CHECKING:
    from millrace.metrics import MetricGroup
    from millrace.relational.types import DataType

T = TypeVar("T")
ACC = TypeVar("ACC")

TypeLike: TypeAlias = "DataType | str"


class FunctionContext:
    """What a function learns about its surroundings in ``open``.

    >>> class Named(ScalarFunction):
    ...     def open(self, function_context):
    ...         self.limit = function_context.get_job_parameter("limit", "3")
    ...     def eval(self, name):
    ...         return name + self.limit
    >>> next(orders.select(udf(Named(), result_type="STRING")(col("name"))).execute().collect())
    <Row('Ann3')>
    """

    def __init__(
        self,
        base_metric_group: MetricGroup,
        job_parameters: dict[str, str],
        task_name: str | None = None,
        task_name_with_subtasks: str | None = None,
        number_of_parallel_subtasks: int | None = None,
        max_number_of_parallel_subtasks: int | None = None,
        index_of_this_subtask: int | None = None,
        attempt_number: int | None = None,
        cached_files: DistributedCache | None = None,
    ) -> None:
        self._base_metric_group = base_metric_group
        self._job_parameters = job_parameters
        self._task_name = task_name
        self._task_name_with_subtasks = task_name_with_subtasks
        self._number_of_parallel_subtasks = number_of_parallel_subtasks
        self._max_number_of_parallel_subtasks = max_number_of_parallel_subtasks
        self._index_of_this_subtask = index_of_this_subtask
        self._attempt_number = attempt_number
        self._cached_files = cached_files if cached_files is not None else DistributedCache({})

    def get_metric_group(self) -> MetricGroup:
        """:raises RuntimeError: metrics are off (``python.metric.enabled``)."""
        if self._base_metric_group is None:
            raise RuntimeError("metrics are off: set python.metric.enabled to true")
        return self._base_metric_group

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A value of ``pipeline.global-job-parameters``."""
        return self._job_parameters.get(key, default_value)

    def get_cached_file(self, name: str) -> str:
        """The path of a file that ``register_cached_file`` of the environment has registered.

        :raises KeyError: nothing was registered under this name.
        """
        return self._cached_files.get_file(name)

    def get_task_name(self) -> str | None:
        """The name of the task."""
        return self._task_name

    def get_task_name_with_subtasks(self) -> str | None:
        """The name of the task with the number of the subtask."""
        return self._task_name_with_subtasks

    def get_number_of_parallel_subtasks(self) -> int | None:
        """How many subtasks the operator has."""
        return self._number_of_parallel_subtasks

    def get_max_number_of_parallel_subtasks(self) -> int | None:
        """How many subtasks the operator can have at most."""
        return self._max_number_of_parallel_subtasks

    def get_index_of_this_subtask(self) -> int | None:
        """The number of this subtask, from 0."""
        return self._index_of_this_subtask

    def get_attempt_number(self) -> int | None:
        """How often this subtask was started before."""
        return self._attempt_number


class UserDefinedFunction(ABC):
    """Base of all functions. ``open`` and ``close`` are called once per subtask.

    >>> issubclass(ScalarFunction, UserDefinedFunction)
    True
    """

    def open(self, function_context: FunctionContext) -> None:
        """Called before the first row."""

    def close(self) -> None:
        """Called after the last row."""

    def is_deterministic(self) -> bool:
        """Whether equal arguments always give equal results."""
        return True


class ScalarFunction(UserDefinedFunction):
    """One value of the values of a row.

    >>> class Twice(ScalarFunction):
    ...     def eval(self, amount):
    ...         return amount * 2
    >>> twice = udf(Twice(), result_type="BIGINT")
    >>> next(orders.select(twice(col("amount"))).execute().collect())
    <Row(2)>
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The result for one row."""


class AsyncScalarFunction(UserDefinedFunction):
    """One value of the values of a row, awaited.

    >>> class Half(AsyncScalarFunction):
    ...     async def eval(self, amount):
    ...         return amount / 2
    >>> half = udf(Half(), result_type="DOUBLE")
    """

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """The result for one row, awaited."""


class TableFunction(UserDefinedFunction):
    """Any number of rows for a row: ``eval`` gives an iterable, or None for no row.

    >>> class Letters(TableFunction):
    ...     def eval(self, word):
    ...         yield from word
    >>> letters = udtf(Letters(), result_types=["STRING"])
    >>> spelt = orders.join_lateral(letters(col("product")).alias("letter")).select(col("letter"))
    >>> next(spelt.execute().collect())
    <Row('i')>
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The rows for one row."""


class ImperativeAggregateFunction(UserDefinedFunction, Generic[T, ACC]):
    """Base of aggregate functions: values go into an accumulator and may be taken out again.

    >>> issubclass(AggregateFunction, ImperativeAggregateFunction)
    True
    """

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """What an empty group begins with."""

    @abstractmethod
    def accumulate(self, accumulator: ACC, *args: Any) -> None:
        """Take a row into the accumulator."""

    def retract(self, accumulator: ACC, *args: Any) -> None:
        """Take back what ``accumulate`` did for these values. Needed when rows of the input are updated or deleted.

        >>> class Total(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return [0]
        ...     def accumulate(self, accumulator, amount):
        ...         accumulator[0] += amount
        ...     def retract(self, accumulator, amount):
        ...         accumulator[0] -= amount
        ...     def get_value(self, accumulator):
        ...         return accumulator[0]
        >>> accumulator = Total().create_accumulator()
        >>> Total().accumulate(accumulator, 5)
        >>> Total().retract(accumulator, 2)
        >>> Total().get_value(accumulator)
        3
        """
        raise RuntimeError(f"{type(self).__name__} must implement retract(): its input has updates or deletions")

    def merge(self, accumulator: ACC, accumulators: Iterable[ACC]) -> None:
        """Add accumulators to one. Needed for session windows and two-phase aggregation."""
        raise RuntimeError(f"{type(self).__name__} must implement merge(): its accumulators are combined here")

    def get_result_type(self) -> TypeLike:
        """The type of the result, where ``udaf`` names none."""
        raise RuntimeError(f"{type(self).__name__} must implement get_result_type(), or udaf() be given result_type")

    def get_accumulator_type(self) -> TypeLike:
        """The type of the accumulator, where ``udaf`` names none."""
        raise RuntimeError(
            f"{type(self).__name__} must implement get_accumulator_type(), or udaf() be given accumulator_type"
        )


class AggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """One value of the rows of a group.

    >>> class Longest(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return [""]
    ...     def accumulate(self, accumulator, word):
    ...         accumulator[0] = max(accumulator[0], word, key=len)
    ...     def get_value(self, accumulator):
    ...         return accumulator[0]
    >>> longest = udaf(Longest(), result_type="STRING", accumulator_type="ARRAY<STRING>")
    >>> list(orders.select(longest(col("product"))).execute().collect())
    [<Row('ink')>]
    """

    @abstractmethod
    def get_value(self, accumulator: ACC) -> T:
        """The result of a group."""


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """Any number of rows of the rows of a group.

    >>> class Top(TableAggregateFunction):
    ...     def create_accumulator(self):
    ...         return []
    ...     def accumulate(self, accumulator, amount):
    ...         accumulator.append(amount)
    ...     def emit_value(self, accumulator):
    ...         for amount in sorted(accumulator)[-2:]:
    ...             yield Row(amount)
    ...     def get_result_type(self):
    ...         return "ROW<amount BIGINT>"
    ...     def get_accumulator_type(self):
    ...         return "ARRAY<BIGINT>"
    >>> top = udtaf(Top())
    >>> list(orders.flat_aggregate(top(col("amount")).alias("top")).select(col("top")).execute().collect())
    [<Row(2)>, <Row(3)>]
    """

    @abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]:
        """The rows of a group."""


class DelegatingScalarFunction(ScalarFunction):
    """A callable as a scalar function.

    >>> DelegatingScalarFunction(lambda n: n * 2).eval(3)
    6
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        # It is called for every row: no step in between.
        self.eval = func  # type: ignore[method-assign]

    def eval(self, *args: Any) -> Any:
        """What the function gives."""
        return self.func(*args)


class DelegatingAsyncScalarFunction(AsyncScalarFunction):
    """An ``async def`` as a scalar function.

    >>> async def half(n):
    ...     return n / 2
    >>> isinstance(DelegatingAsyncScalarFunction(half), AsyncScalarFunction)
    True
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    async def eval(self, *args: Any) -> Any:
        """What the function gives, awaited."""
        return await self.func(*args)


class DelegationTableFunction(TableFunction):
    """A callable as a table function.

    >>> list(DelegationTableFunction(lambda word: iter(word)).eval("ab"))
    ['a', 'b']
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        # It is called for every row: no step in between.
        self.eval = func  # type: ignore[method-assign]

    def eval(self, *args: Any) -> Any:
        """The rows that the function gives."""
        return self.func(*args)


class DelegatingPandasAggregateFunction(AggregateFunction[Any, Any]):
    """A callable on pandas.Series as an aggregate function.

    >>> isinstance(DelegatingPandasAggregateFunction(lambda amounts: amounts.mean()), AggregateFunction)
    True
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def create_accumulator(self) -> list[Any]:
        """An empty accumulator; ``accumulate`` puts the function's result into it."""
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        """Put the function's result for the columns of a group into the accumulator."""
        accumulator.append(self.func(*args))

    def get_value(self, accumulator: list[Any]) -> Any:
        """The result that ``accumulate`` has put into the accumulator."""
        return accumulator[0]


class PandasAggregateFunctionWrapper:
    """An aggregate function that is given all rows of a group at once.

    >>> import pandas
    >>> wrapper = PandasAggregateFunctionWrapper(DelegatingPandasAggregateFunction(lambda amounts: amounts.sum()))
    """

    def __init__(self, func: AggregateFunction[Any, Any]) -> None:
        self.func = func

    def open(self, function_context: FunctionContext) -> None:
        """Open the function."""
        self.func.open(function_context)

    def eval(self, *args: Any) -> Any:
        """The result for the rows of a batch."""
        accumulator = self.func.create_accumulator()
        self.func.accumulate(accumulator, *args)
        return self.func.get_value(accumulator)

    def close(self) -> None:
        """Close the function."""
        self.func.close()
