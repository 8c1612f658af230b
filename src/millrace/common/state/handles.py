"""State handles, their descriptors and time-to-live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from millrace.common.functions.callables import as_reduce
from millrace.common.functions.element_functions import AggregateFunction, ReduceFunction
from millrace.common.state.ttl import StateTtlConfig
from millrace.common.typeinfo import TypeInformation, Types

__all__ = [
    "ValueStateDescriptor",
    "ValueState",
    "ListStateDescriptor",
    "ListState",
    "MapStateDescriptor",
    "MapState",
    "ReducingStateDescriptor",
    "ReducingState",
    "AggregatingStateDescriptor",
    "AggregatingState",
    "ReadOnlyBroadcastState",
    "BroadcastState",
    "StateTtlConfig",
    "OperatorStateStore",
]

T = TypeVar("T")
"""Type of a value or of a list's elements."""
K = TypeVar("K")
"""Type of a map's keys."""
V = TypeVar("V")
"""Type of a map's values."""
IN = TypeVar("IN")
"""Type of what is added."""
OUT = TypeVar("OUT")
"""Type of what comes out."""


class OperatorStateStore(ABC):
    """Hands out state that belongs to a subtask of the operator, not to a key.

    The methods differ in how the state is redistributed when the number of subtasks changes. A name stands for one
    state.

        >>> class Kept(MapFunction, CheckpointedFunction):
        ...     def initialize_state(self, context):
        ...         store = context.get_operator_state_store()
        ...         self.kept = store.get_list_state(ListStateDescriptor("kept", Types.INT()))
        ...         self.names = store.get_registered_state_names()
        ...     def snapshot_state(self, context):
        ...         self.kept.update([1])
        ...     def map(self, value):
        ...         return sorted(self.names)
        >>> list(env.from_collection(["a"]).map(Kept()).execute_and_collect())
        [['kept']]
    """

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """The broadcast state of this descriptor; every subtask holds a copy."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list whose items are dealt out to the new subtasks, each to one."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list of which every new subtask is given all items of all subtasks, and keeps what it needs."""

    @abstractmethod
    def get_registered_state_names(self) -> set[str]:
        """The names of the list states that were asked for or restored."""

    @abstractmethod
    def get_registered_broadcast_state_names(self) -> set[str]:
        """The names of the broadcast states that were asked for or restored."""


class State(ABC):
    """A handle of keyed state. It shows the entry of the current key (and window); do not keep what it returns.

    >>> issubclass(ValueState, State)
    True
    """

    @abstractmethod
    def clear(self) -> None:
        """Remove the current key's entry.

        >>> class Once(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.INT()))
        ...     def process_element(self, value, ctx):
        ...         self.kept.update(value)
        ...         self.kept.clear()
        ...         yield self.kept.value()
        >>> list(env.from_collection([1]).key_by(lambda n: n).process(Once()).execute_and_collect())
        [None]
        """


class ValueState(State, Generic[T]):
    """One value per key.

    >>> class Count(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
    ...     def process_element(self, value, ctx):
    ...         self.count.update((self.count.value() or 0) + 1)
    ...         yield self.count.value()
    >>> list(env.from_collection(["a", "a"]).key_by(lambda word: word).process(Count()).execute_and_collect())
    [1, 2]
    """

    @abstractmethod
    def value(self) -> T | None:
        """The value, None if there is none."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Set the value. A value that was changed in place must be set again; None removes it."""


class AppendingState(State, Generic[IN, OUT]):
    """State that elements are added to.

    >>> issubclass(ListState, AppendingState)
    True
    """

    @abstractmethod
    def get(self) -> OUT | None:
        """What the added elements amount to, None if there are none."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add an element."""


class MergingState(AppendingState[IN, OUT], Generic[IN, OUT]):
    """Appending state that can be merged, as the windows of a session are.

    >>> issubclass(ReducingState, MergingState)
    True
    """


class ReducingState(MergingState[T, T], Generic[T]):
    """Added elements are combined by a ``ReduceFunction``.

    >>> class Total(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         total = ReducingStateDescriptor("total", lambda x, y: x + y, Types.INT())
    ...         self.total = runtime_context.get_reducing_state(total)
    ...     def process_element(self, value, ctx):
    ...         self.total.add(value)
    ...         yield self.total.get()
    >>> list(env.from_collection([1, 2]).key_by(lambda n: "all").process(Total()).execute_and_collect())
    [1, 3]
    """


class AggregatingState(MergingState[IN, OUT], Generic[IN, OUT]):
    """Added elements are combined by an ``AggregateFunction``; ``get`` gives its result.

    >>> class Length(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return 0
    ...     def add(self, value, accumulator):
    ...         return accumulator + len(value)
    ...     def get_result(self, accumulator):
    ...         return accumulator
    ...     def merge(self, a, b):
    ...         return a + b
    >>> class Lengths(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         lengths = AggregatingStateDescriptor("lengths", Length(), Types.INT())
    ...         self.lengths = runtime_context.get_aggregating_state(lengths)
    ...     def process_element(self, value, ctx):
    ...         self.lengths.add(value)
    ...         yield self.lengths.get()
    >>> list(env.from_collection(["a", "bc"]).key_by(lambda word: "all").process(Lengths()).execute_and_collect())
    [1, 3]
    """


class ListState(MergingState[T, Iterable[T]], Generic[T]):
    """One list per key. ``get`` gives an iterable, an empty one if nothing was added.

    >>> class Keep(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.kept = runtime_context.get_list_state(ListStateDescriptor("kept", Types.INT()))
    ...     def process_element(self, value, ctx):
    ...         self.kept.add(value)
    ...         yield list(self.kept.get())
    >>> list(env.from_collection([1, 2]).key_by(lambda n: "all").process(Keep()).execute_and_collect())
    [[1], [1, 2]]
    """

    @abstractmethod
    def get(self) -> Iterable[T]:
        """The elements, in the order in which they were added."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace the list."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Add several elements."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class _Mapping(State, Generic[K, V]):
    """Reading a map; what ``MapState`` and ``ReadOnlyBroadcastState`` share."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value of ``key``, None if there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether ``key`` has a value."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """The entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """The keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """The values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there are no entries."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class _MutableMapping(_Mapping[K, V], Generic[K, V]):
    """Writing a map; what ``MapState`` and ``BroadcastState`` share."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of ``key``."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set several values."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove ``key``; nothing happens if it is not there.

        >>> class Last(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.kept = runtime_context.get_map_state(MapStateDescriptor("kept", Types.INT(), Types.INT()))
        ...     def process_element(self, value, ctx):
        ...         self.kept.put(value, value)
        ...         self.kept.remove(value - 1)
        ...         yield list(self.kept.keys())
        >>> list(env.from_collection([1, 2]).key_by(lambda n: "all").process(Last()).execute_and_collect())
        [[1], [2]]
        """

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(_MutableMapping[K, V], Generic[K, V]):
    """One map per key, read and written entry by entry; also usable as ``state[k]``, ``k in state``, ``del state[k]``.

    Unlike a dictionary, ``state[k]`` is None for a key that is not there.

        >>> class Prices(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.prices = runtime_context.get_map_state(MapStateDescriptor("p", Types.STRING(), Types.INT()))
        ...     def process_element(self, value, ctx):
        ...         self.prices.put(*value)
        ...         yield sorted(self.prices.items()), self.prices.contains("pen")
        >>> sold = env.from_collection([("ink", 5), ("pen", 2)]).key_by(lambda pair: "shop")
        >>> list(sold.process(Prices()).execute_and_collect())
        [([('ink', 5)], False), ([('ink', 5), ('pen', 2)], True)]
    """


class ReadOnlyBroadcastState(_Mapping[K, V], Generic[K, V]):
    """Broadcast state as the side that is not broadcast sees it. What it returns must not be changed.

    >>> rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())
    >>> class Look(BroadcastProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         yield ctx.get_broadcast_state(rules).get(value)
    ...     def process_broadcast_element(self, value, ctx):
    ...         ctx.get_broadcast_state(rules).put(*value)
    >>> told = env.from_collection([("limit", 3)]).broadcast(rules)
    >>> list(env.from_collection(["limit"]).connect(told).process(Look()).execute_and_collect())
    [3]
    """


class BroadcastState(_MutableMapping[K, V], ReadOnlyBroadcastState[K, V], Generic[K, V]):
    """A map that every subtask holds a copy of, written by the broadcast side.

    >>> rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())
    >>> class Rules(BroadcastProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         pass
    ...     def process_broadcast_element(self, value, ctx):
    ...         state = ctx.get_broadcast_state(rules)
    ...         state.put(*value)
    ...         yield sorted(state.items())
    >>> told = env.from_collection([("limit", 3)]).broadcast(rules)
    >>> list(env.from_collection([1]).connect(told).process(Rules()).execute_and_collect())
    [[('limit', 3)]]
    """


class StateDescriptor(ABC):
    """Name and type of a state; the runtime context turns it into a handle.

        >>> descriptor = ValueStateDescriptor("last", Types.INT())
        >>> isinstance(descriptor, StateDescriptor), descriptor.get_name()
        (True, 'last')

    :raises ValueError: empty name.
    :raises TypeError: the name is no string, a type is no ``TypeInformation``.
    """

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        if not isinstance(name, str):
            raise TypeError(f"The name of a state must be a string, not {name!r}")
        if not name:
            raise ValueError("The name of a state must not be empty")
        self.name = name
        self.type_info = _checked(type_info, "type", name)
        self._ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """The state's name, unique among the states of a function."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let entries expire."""
        if not isinstance(ttl_config, StateTtlConfig):
            raise TypeError(f"The time-to-live of a state must be a StateTtlConfig, not {ttl_config!r}")
        self._ttl_config = ttl_config

    def get_ttl_config(self) -> StateTtlConfig | None:
        """The time-to-live, None without or with a disabled one."""
        return self._ttl_config if self._ttl_config is not None and self._ttl_config.is_enabled() else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info})"


class ValueStateDescriptor(StateDescriptor):
    """Describes a ``ValueState``.

    >>> class Last(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))
    ...     def process_element(self, value, ctx):
    ...         yield self.last.value(), value
    ...         self.last.update(value)
    >>> list(env.from_collection([1, 3]).key_by(lambda n: n % 2).process(Last()).execute_and_collect())
    [(None, 1), (1, 3)]
    """

    def __init__(self, name: str, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """Describes a ``ListState`` by the type of its elements.

    >>> ListStateDescriptor("words", Types.STRING()).get_name()
    'words'
    """

    def __init__(self, name: str, elem_type_info: TypeInformation) -> None:
        super().__init__(name, Types.LIST(_checked(elem_type_info, "element type", name)))


class MapStateDescriptor(StateDescriptor):
    """Describes a ``MapState`` or a ``BroadcastState`` by the types of its keys and values.

    >>> MapStateDescriptor("prices", Types.STRING(), Types.DOUBLE()).get_name()
    'prices'
    """

    def __init__(self, name: str, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        super().__init__(
            name, Types.MAP(_checked(key_type_info, "key type", name), _checked(value_type_info, "value type", name))
        )


class ReducingStateDescriptor(StateDescriptor):
    """Describes a ``ReducingState``.

        >>> ReducingStateDescriptor("total", lambda x, y: x + y, Types.INT()).get_name()
        'total'

    :param reduce_function: a ``ReduceFunction`` or a callable of two values.
    :raises TypeError: ``reduce_function`` is neither.
    """

    def __init__(self, name: str, reduce_function: Any, type_info: TypeInformation) -> None:
        super().__init__(name, type_info)
        self._reduce_function = as_reduce(reduce_function)

    def get_reduce_function(self) -> ReduceFunction:
        """The function, wrapped if it was given as a callable."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Describes an ``AggregatingState``.

        >>> class Largest(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return 0
        ...     def add(self, value, accumulator):
        ...         return max(value, accumulator)
        ...     def get_result(self, accumulator):
        ...         return accumulator
        ...     def merge(self, a, b):
        ...         return max(a, b)
        >>> AggregatingStateDescriptor("largest", Largest(), Types.INT()).get_name()
        'largest'

    :param state_type_info: the type of the accumulator.
    :raises TypeError: ``agg_function`` is no ``AggregateFunction``.
    """

    def __init__(self, name: str, agg_function: AggregateFunction, state_type_info: TypeInformation) -> None:
        super().__init__(name, state_type_info)
        if not isinstance(agg_function, AggregateFunction):
            raise TypeError(f"The input must be a millrace.common.functions.AggregateFunction, not {agg_function!r}")
        self._agg_function = agg_function

    def get_agg_function(self) -> AggregateFunction:
        """The aggregate function."""
        return self._agg_function


def _checked(type_info: Any, what: str, name: str) -> TypeInformation:
    if not isinstance(type_info, TypeInformation):
        raise TypeError(
            f"The {what} of state {name!r} must be a TypeInformation such as Types.STRING() "
            f"or Types.PICKLED_BYTE_ARRAY(), not {type_info!r}"
        )
    return type_info
