"""The streams of the DataStream API: handles that hold references to nodes of the program, never the nodes
themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, overload

from millrace.common.execution_config import ExecutionConfig
from millrace.common.functions import (
    CheckpointedFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
    TwoPhaseCommitSinkFunction,
)
from millrace.common.functions.callables import as_filter, as_flat_map, as_map, as_partitioner, as_reduce
from millrace.common.output_tag import OutputTag
from millrace.common.sink import Sink
from millrace.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.common.window import CountSlidingWindowAssigner, CountTumblingWindowAssigner, WindowAssigner
from millrace.connectors.sink_function import SinkFunctionSink, TwoPhaseCommitSink
from millrace.datastream.function_adapters import (
    CoFlatMap,
    CoMap,
    FieldChoice,
    FieldReduce,
    KeyedCoFlatMap,
    KeyedCoMap,
    KeyedCoProcess,
    KeyedFilter,
    KeyedFlatMap,
    KeyedMap,
    Position,
    WithKey,
    add,
    greater_than,
    larger,
    less_than,
    refuse_generator,
    smaller,
    warn_of_nothing,
)
from millrace.datastream.handles import (
    OTHER_ENVIRONMENT,
    BroadcastStream,
    CloseableIterator,
    DataStreamSink,
    Port,
    _function,
    _key_function,
    _NodeHandle,
    _type_of_field,
    checked_type,
    expect,
)
from millrace.graph.program import Cache, Chaining, Edge, GraphError, Node
from millrace.runtime.exchange import partitioners
from millrace.runtime.exchange.keys import UPPER_BOUND_MAX_PARALLELISM
from millrace.runtime.operators import specs
from millrace.util.fallback import takes_older_arguments
from millrace.util.not_yet import lazy_names
from millrace.util.plugins import NOTEBOOKS, load
from millrace.util.tracebacks import user_origin

if TYPE_CHECKING:
    from millrace.common.state import MapStateDescriptor
    from millrace.datastream.derived_streams import BroadcastConnectedStream, CachedDataStream, IterativeStream
    from millrace.datastream.joins import CoGroupedStreams, IntervalJoin, JoinedStreams
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from millrace.datastream.windowed_stream import AllWindowedStream, WindowedStream


__all__ = ["CloseableIterator", "ConnectedStreams", "DataStream", "DataStreamSink", "KeyedStream"]


# Handles with modules of their own, which import this one; PyFlink has them here.
__getattr__ = lazy_names(
    __name__,
    {
        "AllWindowedStream": "datastream.windowed_stream",
        "BroadcastConnectedStream": "datastream.derived_streams",
        "CachedDataStream": "datastream.derived_streams",
        "WindowedStream": "datastream.windowed_stream",
    },
)


class DataStream(_NodeHandle):
    """A stream of elements; every transformation gives a new one.

    Elements are Python objects. Where a type is declared (``output_type``), results are checked and converted as
    PyFlink's serializers would; without one they travel as they are.

        >>> numbers = env.from_collection([1, 2, 3])
        >>> list(numbers.filter(lambda n: n > 1).map(lambda n: n * n).execute_and_collect())
        [4, 9]
    """

    def __init__(
        self, env: StreamExecutionEnvironment, ports: tuple[Port, ...], output_type: TypeInformation | None
    ) -> None:
        self._env = env
        self._ports = ports
        self._type = output_type

    # -- the operator behind the handle ---------------------------------------------------------------------------

    def _node(self, method: str) -> Node:
        kind = self._kind()
        if kind is not None:
            raise GraphError(
                f"{method}() at {user_origin()}: {kind} is no operator of its own; call {method}() on the operator "
                f"before or behind it"
            )
        return self._env._program.node(self._ports[0].node)

    def _kind(self) -> str | None:
        """The kind of a stream that is not the main output of one operator (``"a side output"``); None if it is one."""
        if len(self._ports) != 1:
            return "a union"
        if self._ports[0].partitioner is not None:
            return "a partitioned stream"
        return None if self._ports[0].tag is None else "a side output"

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        """The number of key groups: the most subtasks that the operator can ever be rescaled to (1..32768).

        >>> sums = env.from_collection([1, 2]).key_by(lambda n: n % 2).sum().set_max_parallelism(128)
        """
        if not 1 <= max_parallelism <= UPPER_BOUND_MAX_PARALLELISM:
            raise ValueError(
                f"the maximum parallelism must be in 1..{UPPER_BOUND_MAX_PARALLELISM}, not {max_parallelism}"
            )
        return self._change("set_max_parallelism", max_parallelism=max_parallelism)

    def force_non_parallel(self) -> DataStream:
        """Fix the parallelism at 1.

        >>> ordered = env.from_collection([1, 2]).map(str).force_non_parallel()
        """
        return self._change("force_non_parallel", non_parallel=True, parallelism=1)

    def set_buffer_timeout(self, timeout_millis: int) -> DataStream:
        """Longest time that this operator's output is buffered before it is sent, in flow execution
        (docs/guide/latency.md); otherwise output is sent when a buffer is full, and at the end of every epoch.

        :param timeout_millis: ms; 0: not at all, -1: until it is enough, or the epoch ends.
        """
        if timeout_millis < -1:
            raise ValueError(f"a buffer timeout is -1, 0 or a time in ms, not {timeout_millis}")
        return self._change("set_buffer_timeout", buffer_timeout=timeout_millis)

    def start_new_chain(self) -> DataStream:
        """Begin a new chain with this operator.

        >>> apart = env.from_collection([1]).map(str).start_new_chain()
        """
        return self._change("start_new_chain", chaining=Chaining.HEAD)

    def get_type(self) -> TypeInformation:
        """The declared element type; that of pickled objects where none was declared.

        >>> env.from_collection([1, 2], Types.INT()).get_type()
        Integer
        """
        return self._type if self._type is not None else Types.PICKLED_BYTE_ARRAY()

    def _instead_of(self, name: str) -> str:
        if not hasattr(KeyedStream, name):
            return super()._instead_of(name)
        whole = f", or {name}_all() for all elements together" if hasattr(type(self), f"{name}_all") else ""
        return f": streams with keys have it, so call key_by() before {name}(){whole}"

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to.

        >>> env.from_collection([1]).get_execution_environment() is env
        True
        """
        return self._env

    def get_execution_config(self) -> ExecutionConfig:
        """The settings of the environment that the stream belongs to.

        >>> env.from_collection([1]).get_execution_config().get_parallelism()
        1
        """
        return self._env.get_config()

    # -- transformations ------------------------------------------------------------------------------------------

    def _edges(self, input: int = 0) -> tuple[Edge, ...]:
        return tuple(port.edge(input) for port in self._ports)

    def _add(self, name: str, spec: specs.Spec, output_type: TypeInformation | None) -> DataStream:
        node = self._env._program.add(name, spec, self._edges(), checked_type(output_type))
        return DataStream(self._env, (Port(node.id),), output_type)

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """One element in, one out.

        >>> list(env.from_collection([1, 2]).map(lambda n: n * 10, Types.INT()).execute_and_collect())
        [10, 20]
        """
        refuse_generator(func, "map", "map()")
        return self._add("Map", specs.Map(_function(as_map, func, "map()")), output_type)

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """One element in, any number out: the function returns or yields them.

        >>> list(env.from_collection(["a b", "c"]).flat_map(lambda line: line.split()).execute_and_collect())
        ['a', 'b', 'c']
        """
        warn_of_nothing(func, "flat_map", "flat_map()")
        return self._add("FlatMap", specs.FlatMap(_function(as_flat_map, func, "flat_map()")), output_type)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keep the elements that the predicate accepts.

        >>> list(env.from_collection([1, 2, 3]).filter(lambda n: n % 2 == 1).execute_and_collect())
        [1, 3]
        """
        refuse_generator(func, "filter", "filter()")
        return self._add("Filter", specs.Filter(_function(as_filter, func, "filter()")), self._type)

    def process(self, func: ProcessFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Run a ProcessFunction: any number of results, side outputs, access to time.

        >>> class Twice(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield value
        ...         yield value
        >>> list(env.from_collection(["a"]).process(Twice()).execute_and_collect())
        ['a', 'a']
        """
        expect(func, ProcessFunction, "process() on a stream that is not keyed")
        return self._add("PROCESS", specs.Process(func), output_type)

    def project(self, *field_indexes: int) -> DataStream:
        """Keep these fields of tuple elements, in this order.

        >>> pairs = env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))
        >>> list(pairs.project(1, 0).execute_and_collect())
        [(1, 'a')]
        """
        if not isinstance(self._type, (TupleTypeInfo, RowTypeInfo)):
            raise GraphError(
                f"project() at {user_origin()}: only streams of a declared Tuple or Row type can be projected, "
                f"not {self.get_type()}: say it where the stream is made, with a type such as "
                f"Types.TUPLE([Types.STRING(), Types.INT()])"
            )
        types = self._type.get_field_types()
        wrong = [index for index in field_indexes if not 0 <= index < len(types)]
        if wrong or not field_indexes:
            raise GraphError(f"project() at {user_origin()}: fields {wrong} are not in 0..{len(types) - 1}")
        chosen = [types[index] for index in field_indexes]
        fields = itemgetter(*field_indexes)
        if len(field_indexes) == 1:
            return self.map(lambda value: (fields(value),), Types.TUPLE(chosen)).name("Projection")
        return self.map(fields, Types.TUPLE(chosen)).name("Projection")

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Begin event time here: the strategy's timestamps and watermarks replace those of the input.

        >>> class SecondField(TimestampAssigner):
        ...     def extract_timestamp(self, value, record_timestamp):
        ...         return value[1]
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
        >>> timed = env.from_collection([("a", 1000)]).assign_timestamps_and_watermarks(strategy)
        """
        expect(watermark_strategy, WatermarkStrategy, "assign_timestamps_and_watermarks()")
        return self._add("Timestamps/Watermarks", specs.AssignTimestamps(watermark_strategy), self._type)

    @takes_older_arguments
    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector | str | int,
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:
        """Partition by key: a function, or the name or position of a field (our addition).

        Keys must be hashable and of a type with a hash that is the same in every process: str, int, float, bytes,
        tuple, Row, date, Enum, dataclass, or one with ``__stable_hash__``.

            >>> pairs = env.from_collection([("a", 1), ("b", 5), ("a", 2)])
            >>> list(pairs.key_by(lambda pair: pair[0]).sum(1).execute_and_collect())
            [('a', 1), ('b', 5), ('a', 3)]
        """
        selector = _key_function(key_selector, "key_by()")
        known = key_type or _type_of_field(key_selector, self._type)
        hashed = partitioners.Hash(selector, origin=f"key_by() at {user_origin()}", key_type=known)
        ports = tuple(replace(port, partitioner=hashed) for port in self._ports)
        return KeyedStream(self._env, ports, self._type, self, key_type)

    def union(self, *streams: DataStream) -> DataStream:
        """All elements of this stream and the others, which must have the same type.

        >>> sorted(env.from_collection([1]).union(env.from_collection([2])).execute_and_collect())
        [1, 2]
        """
        ports = list(self._ports)
        for stream in streams:
            expect(stream, DataStream, "union()")
            if stream._env is not self._env:
                raise GraphError(f"union() at {user_origin()}: {OTHER_ENVIRONMENT}")
            if stream.get_type() != self.get_type():
                raise GraphError(
                    f"union() at {user_origin()}: the streams have different types: "
                    f"{self.get_type()} and {stream.get_type()}: map them to one, or connect() them"
                )
            # The keys of a keyed stream mean nothing to what reads the union.
            ports.extend((stream._origin_stream if isinstance(stream, KeyedStream) else stream)._ports)
        return DataStream(self._env, tuple(ports), self._type)

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | BroadcastConnectedStream:
        """Bring two streams of any types together under one function; one may be broadcast, with broadcast state.

        >>> class Tag(CoMapFunction):
        ...     def map1(self, value):
        ...         return f"left {value}"
        ...     def map2(self, value):
        ...         return f"right {value}"
        >>> both = env.from_collection([1]).connect(env.from_collection(["x"]))
        >>> sorted(both.map(Tag()).execute_and_collect())
        ['left 1', 'right x']
        """
        from millrace.datastream.derived_streams import BroadcastConnectedStream

        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        expect(ds, DataStream, "connect()")
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Pair elements of equal keys in the same window (an addition to PyFlink).

        >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
        >>> left = env.from_collection([("a", 1)]).assign_timestamps_and_watermarks(strategy)
        >>> joined = left.join(left).where(lambda row: row[0]).equal_to(lambda row: row[0])
        >>> joined = joined.window(TumblingEventTimeWindows.of(Time.minutes(1)))
        """
        from millrace.datastream.joins import JoinedStreams

        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """Bring the elements of equal keys in the same window together, both groups (an addition to PyFlink).

        >>> left = env.from_collection([("a", 1)])
        >>> grouped = left.co_group(left).where(lambda row: row[0]).equal_to(lambda row: row[0])
        """
        from millrace.datastream.joins import CoGroupedStreams

        return CoGroupedStreams(self, other_stream)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The elements that the operator's function yielded as ``output_tag, value``.

        >>> odd = OutputTag("odd", Types.INT())
        >>> class Split(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield (odd, value) if value % 2 else value
        >>> even = env.from_collection([1, 2, 3]).process(Split(), Types.INT())
        >>> list(even.get_side_output(odd).execute_and_collect())
        [1, 3]
        """
        expect(output_tag, OutputTag, "get_side_output()")
        node = self._node("get_side_output")
        known = node.side_types.get(output_tag.tag_id, output_tag.type_info)
        if known != output_tag.type_info:
            raise GraphError(
                f"get_side_output() at {user_origin()}: {node.described} has a side output {output_tag.tag_id!r} of "
                f"another type already: {known}, not {output_tag.type_info}"
            )
        self._env._program.add_side_type(node.id, output_tag.tag_id, output_tag.type_info)
        return DataStream(self._env, (Port(node.id, output_tag.tag_id),), output_tag.type_info)

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Collect all elements in windows, in one subtask.

        >>> class Total(ProcessAllWindowFunction):
        ...     def process(self, context, elements):
        ...         yield sum(elements)
        >>> numbers = env.from_collection([1, 2, 3])
        >>> list(numbers.window_all(CountTumblingWindowAssigner(2)).process(Total()).execute_and_collect())
        [3]
        """
        from millrace.datastream.windowed_stream import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def iterate(self, *, max_rounds: int | None = None) -> IterativeStream:
        """Begin a loop (Flink's ``iterate``, which PyFlink lacks): what ``close_with`` gets comes back here.

        The loop ends when the input has ended and nothing comes back any more, or when something has come back
        ``max_rounds`` times since the input ended: what would be next is not fed back then.

            >>> loop = env.from_collection([5]).iterate()
            >>> halved = loop.map(lambda n: n // 2)
            >>> _ = loop.close_with(halved.filter(lambda n: n > 0))
            >>> sorted(halved.execute_and_collect())
            [0, 1, 2]
        """
        from millrace.datastream.derived_streams import IterativeStream

        if max_rounds is not None and max_rounds < 1:
            raise ValueError(f"iterate() at {user_origin()}: max_rounds must be at least 1, not {max_rounds}")
        node = self._env._program.add("Iterate", specs.Iterate(max_rounds), self._edges(), self._type)
        return IterativeStream(self._env, Port(node.id), self._type)

    # -- partitioning ---------------------------------------------------------------------------------------------

    def _partitioned(self, method: str, partitioner: partitioners.Partitioner) -> DataStream:
        ports = tuple(replace(port, partitioner=partitioner) for port in self._ports)
        return DataStream(self._env, ports, self._type)

    def forward(self) -> DataStream:
        """Subtask i to subtask i; both sides need the same parallelism.

        >>> kept = env.from_collection([1]).forward().map(str)
        """
        return self._partitioned("forward", partitioners.Forward())

    def rebalance(self) -> DataStream:
        """Round robin over all subtasks.

        >>> spread = env.from_collection([1, 2]).rebalance().map(str)
        """
        return self._partitioned("rebalance", partitioners.Rebalance())

    def rescale(self) -> DataStream:
        """Round robin over a part of the subtasks.

        >>> spread = env.from_collection([1, 2]).rescale().map(str)
        """
        return self._partitioned("rescale", partitioners.Rescale())

    def shuffle(self) -> DataStream:
        """To subtasks drawn at random.

        >>> spread = env.from_collection([1, 2]).shuffle().map(str)
        """
        return self._partitioned("shuffle", partitioners.Shuffle())

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Every element to every subtask; with descriptors of broadcast states, for ``connect`` of another stream.

        >>> rules = env.from_collection([("limit", 3)])
        >>> told = rules.broadcast(MapStateDescriptor("rules", Types.STRING(), Types.INT()))
        """
        stream = self._partitioned("broadcast", partitioners.Broadcast())
        if broadcast_state_descriptor is None:
            return stream
        return BroadcastStream(stream, [broadcast_state_descriptor, *other_broadcast_state_descriptors])

    def global_(self) -> DataStream:
        """Everything to subtask 0 (Flink's ``global()``, which PyFlink lacks).

        >>> at_one = env.from_collection([1, 2]).global_().map(str)
        """
        return self._partitioned("global_", partitioners.Global())

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector,
    ) -> DataStream:
        """To the subtask that ``partitioner(key, number of subtasks)`` names.

        >>> class ByLast(Partitioner):
        ...     def partition(self, key, num_partitions):
        ...         return key % num_partitions
        >>> spread = env.from_collection([11, 12]).partition_custom(ByLast(), lambda n: n % 10)
        """
        origin = f"partition_custom() at {user_origin()}"
        partition = _function(as_partitioner, partitioner, "partition_custom()").partition
        get_key = _key_function(key_selector, "partition_custom()")
        return self._partitioned("partition_custom", partitioners.Custom(partition, get_key, origin))

    # -- ends -----------------------------------------------------------------------------------------------------

    def _end(self, name: str, spec: specs.Spec, **settings: Any) -> DataStreamSink:
        node = self._env._program.add(name, spec, self._edges(), None, **settings)
        return DataStreamSink(self._env, node.id)

    def sink_to(self, sink: Sink[Any]) -> DataStreamSink:
        """Write to a sink.

        >>> written = env.from_collection(["a"]).sink_to(
        ...     FileSink.for_row_format("lines", Encoder.simple_string_encoder()).build())
        >>> result = env.execute()
        """
        expect(sink, Sink, "sink_to()")
        return self._end(f"Sink: {type(sink).__name__}", specs.Sink(sink.for_input_type(self.get_type())))

    def add_sink(self, sink_func: SinkFunction[Any] | Sink[Any]) -> DataStreamSink:
        """Write with a SinkFunction.

        >>> class Out(SinkFunction):
        ...     def invoke(self, value, context=None):
        ...         print("got", value)
        >>> sink = env.from_collection([1]).add_sink(Out())
        >>> result = env.execute()
        got 1
        """
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        expect(sink_func, SinkFunction, "add_sink()")
        name = f"Sink: {type(sink_func).__name__}"
        if isinstance(sink_func, TwoPhaseCommitSinkFunction):
            return self._end(name, specs.Sink(_function(TwoPhaseCommitSink, sink_func, "add_sink()")))
        stateful = isinstance(sink_func, CheckpointedFunction)
        spec = specs.StatefulSink(sink_func) if stateful else specs.Sink(SinkFunctionSink(sink_func))
        return self._end(name, spec)

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print every element on the driver's standard output, as ``identifier:subtask> element``.

        >>> sink = env.from_collection([1, 2]).print("seen")
        >>> result = env.execute()
        seen> 1
        seen> 2
        """
        return self._end("Sink: Print to Std. Out", specs.Print(sink_identifier, self._type))

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the program and give this stream's elements: an iterator, or with ``limit`` a list of at most that many.

        >>> with env.from_collection([1, 2]).map(str).execute_and_collect() as texts:
        ...     print(list(texts))
        ['1', '2']
        """
        if limit is not None and limit <= 0:
            raise ValueError(f"the limit must be greater than 0, not {limit}")
        node = self._env._program.add("Sink: Collect", specs.Collect(), self._edges(), None)
        try:
            client = self._env._submit(job_execution_name, collect=node.id)
        finally:
            self._env._program.remove(node.id)
        iterator = CloseableIterator(client.collected(), client.discard)
        if limit is None:
            return iterator
        with iterator:
            return [value for _, value in zip(range(limit), iterator)]

    def live(self, rows: int = 20, seconds: float | None = None) -> None:
        """Run the stream in a notebook, without the sinks of its program, and show its newest elements, in place,
        until it ends or the cell is interrupted. Not in PyFlink.

        :param rows: how many are shown.
        :param seconds: after which the job is cancelled; None: as long as it runs.
        """
        load(NOTEBOOKS, "previews").watch_stream(self, rows, seconds)

    def _repr_html_(self) -> str:
        """What a notebook shows: the operators, and the first elements if the stream has an end."""
        return str(load(NOTEBOOKS, "previews").stream_html(self))

    def cache(self) -> CachedDataStream:
        """Store the elements when a job first computes them, so that later jobs of this environment read them.

        Only for bounded input, which is computed as a whole (a job that is stopped early keeps what it got to). The
        elements stay until ``invalidate()``, the environment's ``close()`` or the end of the program.

            >>> slow = env.from_collection([1, 2]).map(lambda n: n + 1).cache()
        """
        from millrace.datastream.derived_streams import CachedDataStream

        result = self._env._new_result_cache()
        node = self._env._program.add("Cache", Cache(result), self._edges(), self._type)
        self._env._program.change(node.id, uid=f"cache-{node.id}")
        return CachedDataStream(self._env, (Port(node.id),), self._type, result)


class KeyedStream(DataStream):
    """A stream partitioned by key: state and timers belong to keys.

    >>> words = env.from_collection(["a", "b", "a"]).map(lambda word: (word, 1))
    >>> list(words.key_by(lambda pair: pair[0]).reduce(lambda x, y: (x[0], x[1] + y[1])).execute_and_collect())
    [('a', 1), ('b', 1), ('a', 2)]
    """

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        ports: tuple[Port, ...],
        output_type: TypeInformation | None,
        origin_stream: DataStream,
        key_type: TypeInformation | None,
    ) -> None:
        super().__init__(env, ports, output_type)
        self._origin_stream = origin_stream
        self._key_type = key_type

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the program and give a row of key and element, ``Row(f0=key, f1=element)``, for each element."""
        pairs = self.process(WithKey()).set_parallelism(1)  # as the end of what is collected: elements keep their order
        try:
            return pairs.execute_and_collect(job_execution_name, limit)
        finally:
            self._env._program.remove(pairs._ports[0].node)

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """One element in, one out; a MapFunction can use keyed state."""
        if isinstance(func, MapFunction):
            refuse_generator(func, "map", "map()")
            return self._add("Map", specs.KeyedProcess(KeyedMap(func)), output_type)
        return super().map(func, output_type)

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """One element in, any number out; a FlatMapFunction can use keyed state."""
        if isinstance(func, FlatMapFunction):
            return self._add("FlatMap", specs.KeyedProcess(KeyedFlatMap(func)), output_type)
        return super().flat_map(func, output_type)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keep the accepted elements; a FilterFunction can use keyed state."""
        if isinstance(func, FilterFunction):
            return self._add("Filter", specs.KeyedProcess(KeyedFilter(func)), self._type)
        return super().filter(func)

    def process(  # type: ignore[override]  # as in PyFlink: a keyed stream takes keyed functions
        self, func: KeyedProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Run a KeyedProcessFunction: state, timers, side outputs.

        >>> class Count(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))
        ...     def process_element(self, value, ctx):
        ...         self.seen.update((self.seen.value() or 0) + 1)
        ...         yield ctx.get_current_key(), self.seen.value()
        >>> words = env.from_collection(["a", "b", "a"]).key_by(lambda word: word)
        >>> list(words.process(Count()).execute_and_collect())
        [('a', 1), ('b', 1), ('a', 2)]
        """
        expect(func, KeyedProcessFunction, "process() on a keyed stream")
        return self._add("KEYED PROCESS", specs.KeyedProcess(func), output_type)

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Fold each key's elements; emits the running result (in batch mode the last one per key).

        >>> numbers = env.from_collection([1, 2, 3, 4]).key_by(lambda n: n % 2)
        >>> list(numbers.reduce(lambda x, y: x + y).execute_and_collect())
        [1, 2, 4, 6]
        """
        refuse_generator(func, "reduce", "reduce()")
        return self._add("Reduce", specs.Reduce(_function(as_reduce, func, "reduce()")), self._type)

    def sum(self, position_to_sum: Position = 0) -> DataStream:
        """The running sum of a field per key; the other fields are those of the key's first element.

        >>> sold = env.from_collection([("ink", 1), ("pen", 5), ("ink", 2)]).key_by(lambda row: row[0])
        >>> list(sold.sum(1).execute_and_collect())
        [('ink', 1), ('pen', 5), ('ink', 3)]
        """
        return self.reduce(FieldReduce(position_to_sum, add))

    def min(self, position_to_min: Position = 0) -> DataStream:
        """The running minimum of a field per key; the other fields are those of the key's first element.

        >>> sold = env.from_collection([("ink", 3, "x"), ("ink", 2, "y")]).key_by(lambda row: row[0])
        >>> list(sold.min(1).execute_and_collect())
        [('ink', 3, 'x'), ('ink', 2, 'x')]
        """
        return self.reduce(FieldReduce(position_to_min, smaller))

    def max(self, position_to_max: Position = 0) -> DataStream:
        """The running maximum of a field per key; the other fields are those of the key's first element.

        >>> sold = env.from_collection([("ink", 1, "x"), ("ink", 2, "y")]).key_by(lambda row: row[0])
        >>> list(sold.max(1).execute_and_collect())
        [('ink', 1, 'x'), ('ink', 2, 'x')]
        """
        return self.reduce(FieldReduce(position_to_max, larger))

    def min_by(self, position_to_min_by: Position = 0) -> DataStream:
        """The element with the smallest field so far per key; the first one on a tie.

        >>> sold = env.from_collection([("ink", 3, "x"), ("ink", 2, "y")]).key_by(lambda row: row[0])
        >>> list(sold.min_by(1).execute_and_collect())
        [('ink', 3, 'x'), ('ink', 2, 'y')]
        """
        return self.reduce(FieldChoice(position_to_min_by, less_than))

    def max_by(self, position_to_max_by: Position = 0) -> DataStream:
        """The element with the largest field so far per key; the first one on a tie.

        >>> sold = env.from_collection([("ink", 1, "x"), ("ink", 2, "y")]).key_by(lambda row: row[0])
        >>> list(sold.max_by(1).execute_and_collect())
        [('ink', 1, 'x'), ('ink', 2, 'y')]
        """
        return self.reduce(FieldChoice(position_to_max_by, greater_than))

    @takes_older_arguments
    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector | str | int,
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:
        return self._origin_stream.key_by(key_selector, key_type)

    def union(self, *streams: DataStream) -> DataStream:
        return self._origin_stream.union(*streams)

    def cache(self) -> CachedDataStream:
        raise GraphError(f"cache() at {user_origin()}: a keyed stream can't be cached; call cache() before key_by()")

    def iterate(self, *, max_rounds: int | None = None) -> IterativeStream:
        raise GraphError(
            f"iterate() at {user_origin()}: a loop can't begin with a keyed stream, since what comes back has no key; "
            f"call iterate() before key_by()"
        )

    def _kind(self) -> str | None:
        return "a keyed stream"

    def _partitioned(self, method: str, partitioner: partitioners.Partitioner) -> DataStream:
        raise GraphError(
            f"{method}() at {user_origin()}: a keyed stream can't be partitioned in another way; call {method}() "
            f"before key_by()"
        )

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Collect each key's elements in windows.

        >>> pairs = env.from_collection([("a", 1), ("a", 2)]).key_by(lambda pair: pair[0])
        >>> windows = pairs.window(TumblingProcessingTimeWindows.of(Time.minutes(1)))
        >>> per_minute = windows.reduce(lambda x, y: (x[0], x[1] + y[1]))
        """
        from millrace.datastream.windowed_stream import WindowedStream

        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of ``size`` elements of a key, one after the other or, with ``slide``, beginning every ``slide``.

        >>> pairs = env.from_collection([("a", 1), ("a", 2), ("a", 4)]).key_by(lambda pair: pair[0])
        >>> list(pairs.count_window(2).sum(1).execute_and_collect())
        [('a', 3)]
        """
        assigner = CountSlidingWindowAssigner.of(size, slide) if slide else CountTumblingWindowAssigner.of(size)
        return self.window(assigner)

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Join with elements of the same key whose timestamps are near (an addition to PyFlink).

        >>> clicks = env.from_collection([("a", 1)]).key_by(lambda row: row[0])
        >>> near = clicks.interval_join(clicks).between(Time.seconds(-5), Time.seconds(5))
        """
        from millrace.datastream.joins import IntervalJoin

        return IntervalJoin(self, other_stream)


class ConnectedStreams:
    """Two streams, possibly of different types, that share one function (and, when keyed, its state).

    >>> class Tag(CoMapFunction):
    ...     def map1(self, value):
    ...         return f"left {value}"
    ...     def map2(self, value):
    ...         return f"right {value}"
    >>> both = env.from_collection([1]).connect(env.from_collection(["x"]))
    >>> sorted(both.map(Tag()).execute_and_collect())
    ['left 1', 'right x']
    """

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        if stream1._env is not stream2._env:
            raise GraphError(f"connect() at {user_origin()}: {OTHER_ENVIRONMENT}")
        self.stream1 = stream1
        self.stream2 = stream2

    @takes_older_arguments
    def key_by(
        self,
        key_selector1: Callable[[Any], Any] | KeySelector | str | int,
        key_selector2: Callable[[Any], Any] | KeySelector | str | int,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:
        """Key both streams; equal keys meet in the same subtask and share state.

        >>> both = env.from_collection([("a", 1)]).connect(env.from_collection([("a", 2)]))
        >>> keyed = both.key_by(lambda row: row[0], lambda row: row[0])
        """
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type), self.stream2.key_by(key_selector2, key_type)
        )

    def _is_keyed(self, method: str) -> bool:
        keyed = [isinstance(stream, KeyedStream) for stream in (self.stream1, self.stream2)]
        if any(keyed) and not all(keyed):
            raise GraphError(
                f"{method}() at {user_origin()}: only the {'first' if keyed[0] else 'second'} of the connected streams "
                f"is keyed; key both or none, for example with connect(...).key_by(...)"
            )
        return all(keyed)

    def _add(self, name: str, spec: specs.Spec, output_type: TypeInformation | None) -> DataStream:
        env = self.stream1._env
        edges = (*self.stream1._edges(0), *self.stream2._edges(1))
        node = env._program.add(name, spec, edges, checked_type(output_type))
        return DataStream(env, (Port(node.id),), output_type)

    def map(self, func: CoMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """map1 for elements of the first stream, map2 for those of the second; None emits nothing."""
        expect(func, CoMapFunction, "map() on connected streams")
        if self._is_keyed("map"):
            return self._add("Co-Map", specs.KeyedCoProcess(KeyedCoMap(func)), output_type)
        return self._add("Co-Map", specs.CoProcess(CoMap(func)), output_type)

    def flat_map(self, func: CoFlatMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """flat_map1 for elements of the first stream, flat_map2 for those of the second."""
        expect(func, CoFlatMapFunction, "flat_map() on connected streams")
        if self._is_keyed("flat_map"):
            return self._add("Co-Flat Map", specs.KeyedCoProcess(KeyedCoFlatMap(func)), output_type)
        return self._add("Co-Flat Map", specs.CoProcess(CoFlatMap(func)), output_type)

    def process(
        self, func: CoProcessFunction | KeyedCoProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """A KeyedCoProcessFunction (or CoProcessFunction) on keyed streams, a CoProcessFunction on others."""
        if self._is_keyed("process"):
            if isinstance(func, CoProcessFunction):
                func = KeyedCoProcess(func)
            expect(func, KeyedCoProcessFunction, "process() on keyed connected streams")
            return self._add("Keyed Co-Process", specs.KeyedCoProcess(func), output_type)
        expect(func, CoProcessFunction, "process() on connected streams that are not keyed")
        return self._add("Co-Process", specs.CoProcess(func), output_type)  # type: ignore[arg-type]
