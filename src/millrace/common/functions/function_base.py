"""``Function`` and its ``RuntimeContext`` and ``KeyedStateStore``; and ``CheckpointedFunction`` with operator state,
which PyFlink does not have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millrace.common.accumulators import Accumulator, DoubleCounter, Histogram, IntCounter, LongCounter
    from millrace.common.files.file_access import DistributedCache
    from millrace.common.functions.element_functions import AggregateFunction
    from millrace.common.jobs import JobInfo
    from millrace.common.state import (
        AggregatingState,
        AggregatingStateDescriptor,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        OperatorStateStore,
        ReducingState,
        ReducingStateDescriptor,
        StateDescriptor,
        ValueState,
        ValueStateDescriptor,
    )
    from millrace.metrics.metricbase import MetricGroup


class KeyedStateStore(ABC):
    """Hands out keyed state by descriptor.

    A handle always shows the value that belongs to the key of the element (or timer) at hand. Only functions on a
    keyed stream have keyed state; each state of a function needs a name of its own.

        >>> class Seen(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.words = runtime_context.get_list_state(ListStateDescriptor("words", Types.STRING()))
        ...         self.sums = runtime_context.get_map_state(MapStateDescriptor("sums", Types.STRING(), Types.INT()))
        ...     def process_element(self, value, ctx):
        ...         self.words.add(value)
        ...         yield list(self.words.get())
        >>> list(env.from_collection(["a", "b"]).key_by(len).process(Seen()).execute_and_collect())
        [['a'], ['a', 'b']]
    """

    def get_any(self, state_descriptor: StateDescriptor) -> Any:
        """The state that a descriptor of any kind asks for; the other methods say which kind they mean.

        :raises TypeError: there is no such kind.
        """
        raise NotImplementedError(f"{type(self).__name__} has no keyed state")

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """One value per key."""
        state: ValueState[Any] = self.get_any(state_descriptor)
        return state

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """One list per key."""
        state: ListState[Any] = self.get_any(state_descriptor)
        return state

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """One dictionary per key, whose entries are read and written one by one."""
        state: MapState[Any, Any] = self.get_any(state_descriptor)
        return state

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """One value per key into which added elements are reduced."""
        state: ReducingState[Any] = self.get_any(state_descriptor)
        return state

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        """One accumulator per key into which added elements are aggregated."""
        state: AggregatingState[Any, Any] = self.get_any(state_descriptor)
        return state


class GlobalAggregateManager(ABC):
    """Values that all subtasks of an operator aggregate together.

    >>> sorted(GlobalAggregateManager.__abstractmethods__)
    ['get_global_aggregate', 'update_global_aggregate']
    """

    @abstractmethod
    def update_global_aggregate(
        self, aggregate_name: str, aggregand: Any, aggregate_function: AggregateFunction
    ) -> Any:
        """Add ``aggregand`` to an aggregate of this operator.

        :param aggregate_function: the same for all calls with that name; it needs ``merge``, too.
        :return: the result of all values that were added, by any subtask, before this epoch began; None for nothing.
            All calls
            in an epoch return the same.
        """

    @abstractmethod
    def get_global_aggregate(self, aggregate_name: str, aggregate_function: AggregateFunction) -> Any:
        """The present result of a global aggregate, without adding a value; None for nothing (our addition)."""


class RuntimeContext(KeyedStateStore):
    """What a function can know about the subtask it runs in, its state and its metrics.

    From ``get_job_info`` on it has what Flink's has in Java and PyFlink's lacks.

        >>> class Where(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.name = runtime_context.get_task_name()
        ...         self.subtask = runtime_context.get_index_of_this_subtask()
        ...     def map(self, value):
        ...         return value, self.name, self.subtask
        >>> list(env.from_collection(["a"]).map(Where()).execute_and_collect())
        [('a', 'Source: Collection Source -> Map -> Sink: Collect', 0)]
    """

    @abstractmethod
    def get_task_name(self) -> str:
        """Name of the operator."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Parallelism of the operator."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Maximum parallelism of the operator, which is its number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Number of this subtask, from 0 to parallelism - 1."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """How often this subtask has been started before; 0 for the first time."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Name and place of the subtask, counted from 1: ``"my map (3/6)"``."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter, ``default_value`` if it is not set."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Where to register the operator's own metrics."""

    @abstractmethod
    def get_job_info(self) -> JobInfo:
        """Id and name of the job."""

    @abstractmethod
    def get_global_job_parameters(self) -> dict[str, str]:
        """All global job parameters."""

    @abstractmethod
    def get_distributed_cache(self) -> DistributedCache:
        """The files that the program registered for its tasks."""

    @abstractmethod
    def get_global_aggregate_manager(self) -> GlobalAggregateManager:
        """Where to add to values that all subtasks of this operator share."""

    @abstractmethod
    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Let the job's result have what this accumulator gathers in all subtasks.

        >>> from millrace.common.accumulators import IntCounter
        >>> class Counted(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.seen = IntCounter()
        ...         runtime_context.add_accumulator("seen", self.seen)
        ...     def map(self, value):
        ...         self.seen.add(1)
        ...         return value
        >>> sink = env.from_collection(["a", "b"]).map(Counted()).print()
        >>> env.execute().get_accumulator_result("seen")
        a
        b
        2
        """

    @abstractmethod
    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        """This subtask's accumulator of the name, None if there is none."""

    @abstractmethod
    def get_int_counter(self, name: str) -> IntCounter:
        """The accumulator of the name, made if need be; TypeError if it is of another type."""

    @abstractmethod
    def get_long_counter(self, name: str) -> LongCounter:
        """The accumulator of the name, made if need be; TypeError if it is of another type."""

    @abstractmethod
    def get_double_counter(self, name: str) -> DoubleCounter:
        """The accumulator of the name, made if need be; TypeError if it is of another type."""

    @abstractmethod
    def get_histogram(self, name: str) -> Histogram:
        """The accumulator of the name, made if need be; TypeError if it is of another type."""


class Function(ABC):
    """Base of all user-defined functions. Instances are pickled into the tasks.

    >>> class Opened(MapFunction):
    ...     def open(self, runtime_context):
    ...         self.suffix = "!"
    ...     def map(self, value):
    ...         return value + self.suffix
    >>> list(env.from_collection(["a"]).map(Opened()).execute_and_collect())
    ['a!']
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once in each subtask before the first element: get state, open connections."""

    def close(self) -> None:
        """Called once in each subtask at the end, after success and after failure.

        >>> class Lines(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.file = open("seen.txt", "w")
        ...     def map(self, value):
        ...         self.file.write(value)
        ...         return value
        ...     def close(self):
        ...         self.file.close()
        >>> list(env.from_collection(["a"]).map(Lines()).execute_and_collect())
        ['a']
        """


# Operator state


class FunctionInitializationContext:
    """What a function begins with: where its state is, and whether there is any from before.

    >>> class Restored(MapFunction, CheckpointedFunction):
    ...     def initialize_state(self, context):
    ...         self.restored = context.is_restored()
    ...     def snapshot_state(self, context):
    ...         pass
    ...     def map(self, value):
    ...         return value, self.restored
    >>> list(env.from_collection(["a"]).map(Restored()).execute_and_collect())
    [('a', False)]
    """

    def __init__(
        self,
        restored: bool,
        operator_state: OperatorStateStore,
        keyed_state: KeyedStateStore | None = None,
        checkpoint_id: int | None = None,
    ) -> None:
        self._restored = restored
        self._checkpoint_id = checkpoint_id
        self._operator_state = operator_state
        self._keyed_state = keyed_state

    def is_restored(self) -> bool:
        """Whether the function was restored from state, possibly an empty one, rather than beginning the job."""
        return self._restored

    def get_restored_checkpoint_id(self) -> int | None:
        """The number of the checkpoint or savepoint that the state is of, which is that of its epoch: as
        ``FunctionSnapshotContext.get_checkpoint_id`` gave it then. None if the function begins the job.
        """
        return self._checkpoint_id if self._restored else None

    def get_operator_state_store(self) -> OperatorStateStore:
        """Where to get list, union list and broadcast state."""
        return self._operator_state

    def get_keyed_state_store(self) -> KeyedStateStore:
        """Where to get keyed state; its entries can be read and written once there is an element, and so a key.

        :raises RuntimeError: the stream is not keyed.
        """
        if self._keyed_state is None:
            raise RuntimeError("Keyed state can only be used on a keyed stream, i.e. after key_by().")
        return self._keyed_state


class FunctionSnapshotContext:
    """The snapshot that is being taken.

    >>> context = FunctionSnapshotContext(7, 1_772_706_600_000)
    >>> context.get_checkpoint_id(), context.get_checkpoint_timestamp()
    (7, 1772706600000)
    """

    def __init__(self, checkpoint_id: int, checkpoint_timestamp: int) -> None:
        self._checkpoint_id = checkpoint_id
        self._checkpoint_timestamp = checkpoint_timestamp

    def get_checkpoint_id(self) -> int:
        """The number of the epoch that ends. Numbers grow; that of a failed epoch is not used again."""
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        """The subtask's clock when the epoch ended, ms."""
        return self._checkpoint_timestamp


class CheckpointedFunction(ABC):
    """Mixed into a user function of any kind: gives it operator state, and a say when state is taken.

        class BufferingSink(SinkFunction, CheckpointedFunction):
            def initialize_state(self, context):
                self.saved = context.get_operator_state_store().get_list_state(BUFFER)
                self.buffer = list(self.saved.get())

            def snapshot_state(self, context):
                self.saved.update(self.buffer)

    What a function keeps in attributes lives in one worker process; the next epoch may run in another. The copy there
    then gets a new instance of the function, as it was when the program was submitted, whose ``initialize_state`` finds
    the state that the other copy saved: that is Flink's restore, only that it may happen between any two epochs. Of an
    instance that is replaced ``close`` is called: don't write out there what is saved in state, do that in ``finish``.

        >>> class Buffer(MapFunction, CheckpointedFunction):
        ...     def initialize_state(self, context):
        ...         kept = ListStateDescriptor("kept", Types.INT())
        ...         self.kept = context.get_operator_state_store().get_list_state(kept)
        ...     def snapshot_state(self, context):
        ...         self.kept.update([1, 2])
        ...     def map(self, value):
        ...         return value, list(self.kept.get())
        >>> list(env.from_collection(["a"]).map(Buffer()).execute_and_collect())
        [('a', [])]
    """

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Get the state. Called before ``open``, on every new instance; ``is_restored`` tells the first ones apart."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Move into the state what must not be lost. Called at the end of every epoch after which another may come."""
