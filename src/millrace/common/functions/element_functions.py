"""Functions of one element (or two) at a time, of two elements or groups of one key, and of an accumulator: map,
filter, reduce, key selectors, joins, co-groups, aggregates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from millrace.common.functions.function_base import Function


class MapFunction(Function):
    """Turns each element into exactly one other: ``stream.map(MyMap())``.

    >>> class Upper(MapFunction):
    ...     def map(self, value):
    ...         return value.upper()
    >>> list(env.from_collection(["a"]).map(Upper()).execute_and_collect())
    ['A']
    """

    @abstractmethod
    def map(self, value: Any) -> Any:
        """The element that takes the place of ``value``."""


class CoMapFunction(Function):
    """Maps two connected streams; one instance sees both, so they can share state.

    >>> class Tag(CoMapFunction):
    ...     def map1(self, value):
    ...         return 1, value
    ...     def map2(self, value):
    ...         return 2, value
    >>> sorted(env.from_collection(["a"]).connect(env.from_collection(["b"])).map(Tag()).execute_and_collect())
    [(1, 'a'), (2, 'b')]
    """

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """The result for an element of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """The result for an element of the second stream."""


class FlatMapFunction(Function):
    """Turns each element into any number of others: ``stream.flat_map(MyFlatMap())``.

    >>> class Words(FlatMapFunction):
    ...     def flat_map(self, value):
    ...         yield from value.split()
    >>> list(env.from_collection(["a b"]).flat_map(Words()).execute_and_collect())
    ['a', 'b']
    """

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """An iterable of results, most simply by ``yield``; None is as good as none at all."""


class CoFlatMapFunction(Function):
    """Flat-maps two connected streams; one instance sees both, so they can share state.

    >>> class Words(CoFlatMapFunction):
    ...     def flat_map1(self, value):
    ...         return value.split()
    ...     def flat_map2(self, value):
    ...         yield value
    >>> both = env.from_collection(["a b"]).connect(env.from_collection(["c d"]))
    >>> sorted(both.flat_map(Words()).execute_and_collect())
    ['a', 'b', 'c d']
    """

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """The results for an element of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """The results for an element of the second stream."""


class ReduceFunction(Function):
    """Combines two values of a type into one of the same type; must be associative.

    >>> class Longest(ReduceFunction):
    ...     def reduce(self, value1, value2):
    ...         return max(value1, value2, key=len)
    >>> words = env.from_collection(["a", "abc", "ab"]).key_by(lambda word: word[0])
    >>> list(words.reduce(Longest()).execute_and_collect())
    ['a', 'abc', 'abc']
    """

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """``value1`` (what was reduced so far) and ``value2`` (the new element) as one value."""


class KeySelector(Function):
    """Finds the key of an element: ``stream.key_by(MySelector())``.

    >>> class ByLength(KeySelector):
    ...     def get_key(self, value):
    ...         return len(value)
    >>> words = env.from_collection(["a", "b", "cc"]).key_by(ByLength())
    >>> list(words.reduce(lambda x, y: x + y).execute_and_collect())
    ['a', 'ab', 'cc']
    """

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The key; must be hashable, and the same whenever it is asked for."""


class NullByteKeySelector(KeySelector):
    """Gives every element the same key, so that a keyed operator can serve a stream that is not keyed.

    >>> NullByteKeySelector().get_key("any")
    0
    """

    def get_key(self, value: Any) -> Any:
        return 0


class FilterFunction(Function):
    """Decides which elements stay: ``stream.filter(MyFilter())``.

    >>> class Long(FilterFunction):
    ...     def filter(self, value):
    ...         return len(value) > 2
    >>> list(env.from_collection(["a", "abc"]).filter(Long()).execute_and_collect())
    ['abc']
    """

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """True to keep the element."""


class Partitioner(Function):
    """Chooses the subtask for a key: ``stream.partition_custom(MyPartitioner(), key_selector)``.

    >>> class Last(Partitioner):
    ...     def partition(self, key, num_partitions):
    ...         return num_partitions - 1
    >>> Last().partition("any", 4)
    3
    """

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """A number from 0 to ``num_partitions - 1``."""


class JoinFunction(Function):
    """Turns each pair of a window join into exactly one result.

    >>> class Pair(JoinFunction):
    ...     def join(self, first, second):
    ...         return first, second
    """

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """The result for an element of the first stream and one of the second."""


class FlatJoinFunction(Function):
    """Turns each pair of a window join into any number of results.

    >>> class Pairs(FlatJoinFunction):
    ...     def join(self, first, second):
    ...         yield first
    ...         yield second
    """

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """The results for an element of the first stream and one of the second; None is as good as none at all."""


class CoGroupFunction(Function):
    """Sees all elements of a key and window at once, those of each stream for themselves.

    >>> class Sizes(CoGroupFunction):
    ...     def co_group(self, first, second):
    ...         yield len(list(first)), len(list(second))
    """

    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """The results for one key and window; either group may be empty, but not both."""


class ProcessJoinFunction(Function):
    """Sees each pair of an interval join, as soon as its second element is there.

    Results are what ``process_element`` yields, with the later timestamp of the two; ``yield tag, value`` with an
    ``OutputTag`` goes to a side output.

        >>> class Delay(ProcessJoinFunction):
        ...     def process_element(self, left, right, ctx):
        ...         yield left, ctx.get_right_timestamp() - ctx.get_left_timestamp()
    """

    class Context(ABC):
        """The timestamps of the pair; valid only during the call."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """The event timestamp of the left element, ms."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """The event timestamp of the right element, ms."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """The timestamp of the results: the later of the two, ms."""

    @abstractmethod
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any] | None:
        """The results for one pair."""


class AggregateFunction(Function):
    """Aggregates elements of one type, by way of an accumulator, to a result that may be of a third type.

    An average, for instance: the accumulator is ``(sum, count)``, the result ``sum / count``. One instance serves any
    number of accumulators, so what is being aggregated belongs in the accumulator and not in ``self``.

        >>> class Total(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return 0
        ...     def add(self, value, accumulator):
        ...         return accumulator + value
        ...     def get_result(self, accumulator):
        ...         return accumulator
        ...     def merge(self, a, b):
        ...         return a + b
        >>> numbers = env.from_collection([1, 2]).key_by(lambda n: "all")
        >>> list(numbers.count_window(2).aggregate(Total()).execute_and_collect())
        [3]
    """

    @abstractmethod
    def create_accumulator(self) -> Any:
        """A fresh accumulator, which stands for no elements at all."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator with ``value`` in it; may be ``accumulator`` itself, changed."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """What the accumulator amounts to."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """One accumulator for the elements of both; either may be reused. Needed by merging (session) windows."""
