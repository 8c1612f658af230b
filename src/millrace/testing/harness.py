"""``OperatorHarness``: one operator under test, driven by hand, and harnesses of interval joins.

    harness = OperatorHarness.for_function(MyKeyedProcess(), key_selector=lambda value: value[0])
    with harness:
        harness.process_element(("a", 1), timestamp=1_000)
        harness.process_watermark(5_000)
        assert harness.output == [Record(("a", 1), 1_000), Watermark(5_000)]

The operator is the one that runs in a job, behind the same gate; only Spark is missing. Time stands still until
``set_processing_time``.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from millrace.common.functions import AggregateFunction, KeySelector, ProcessJoinFunction, ReduceFunction
from millrace.common.functions.callables import as_key_selector
from millrace.common.output_tag import OutputTag
from millrace.common.state import MapStateDescriptor
from millrace.common.time import TimeSpan, to_millis
from millrace.common.typeinfo import TypeInformation
from millrace.common.window import Evictor, Trigger, WindowAssigner
from millrace.datastream.state_backend import HashMapStateBackend, StateBackend
from millrace.metrics.report import CounterSnapshot, MetricSnapshot
from millrace.runtime.bases.epoch_protocol import SourceOrder, SourceReport, parts_of
from millrace.runtime.bases.operator import Operator, OperatorContext, ReadingLimits, ReadingOperator
from millrace.runtime.bases.runtime_context import Measures, OperatorRuntimeContext, merged
from millrace.runtime.elements import MAX_WATERMARK, Chunk, Status
from millrace.runtime.exchange.codec import decode
from millrace.runtime.exchange.partitioners import PartitioningError, each
from millrace.runtime.operators import specs
from millrace.runtime.operators.iteration import CloseWithOperator
from millrace.runtime.operators.making import make_operator
from millrace.runtime.operators.sinks import CollectOperator, PrintOperator, SinkOperator
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.operator_state import OperatorStateBackend
from millrace.runtime.state.ttl_tables import TtlTable
from millrace.runtime.tasks.member import OperatorDeltas
from millrace.runtime.tasks.wiring import Gate
from millrace.runtime.windows.slicing import CONTENTS
from millrace.runtime.windows.window_operator import WindowOperatorBase
from millrace.testing.operators import Snapshot, Testable, Versions, choice_for, window_spec
from millrace.testing.script import Captured, Item, Record, records
from millrace.util.by_value import pickled_by_value

__all__ = ["OperatorHarness"]

Selector = KeySelector | Callable[[Any], Any]

_NO_NAMESPACE = object()


class OperatorHarness:
    """Drives one subtask of one operator and collects its output.

        >>> class Twice(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield value
        ...         yield value
        >>> with OperatorHarness.for_function(Twice()) as harness:
        ...     harness.process_element("a", 1000)
        ...     print(harness.output)
        [Record(value='a', timestamp=1000), Record(value='a', timestamp=1000)]

    :param operator_factory: makes a fresh operator; called once by every harness, also by ``restored``.
    :param key_selectors: one per input for a keyed operator (None for a broadcast input), none otherwise.
    :param channels: how many senders each input has: the watermark is the minimum over all of them.
    :param output_type: declared type of the results, as ``output_type`` of ``DataStream.map``.
    :param side_outputs: tags whose values shall be checked against the tag's type.
    :param cached_files: name -> path, what ``register_cached_file`` would have registered.
    :param state_backend: where keyed state is; None: in memory.
    """

    def __init__(
        self,
        operator_factory: Callable[[], Operator],
        *,
        inputs: int = 1,
        key_selectors: Sequence[Selector | None] = (),
        output_type: TypeInformation | None = None,
        side_outputs: Iterable[OutputTag] = (),
        parallelism: int = 1,
        subtask: int = 0,
        max_parallelism: int = 128,
        channels: int = 1,
        job_parameters: dict[str, str] | None = None,
        cached_files: dict[str, str] | None = None,
        processing_time: int = 0,
        state_backend: StateBackend | None = None,
    ) -> None:
        if not 0 <= subtask < parallelism <= max_parallelism:
            raise ValueError(f"no subtask {subtask} of {parallelism}, at most {max_parallelism}")
        if key_selectors and len(key_selectors) != inputs:
            raise ValueError(f"{inputs} inputs need as many key selectors, not {len(key_selectors)}")
        tags = tuple(side_outputs)
        self._another = partial(
            type(self),
            operator_factory,
            inputs=inputs,
            key_selectors=key_selectors,
            output_type=output_type,
            side_outputs=tags,
            parallelism=parallelism,
            subtask=subtask,
            max_parallelism=max_parallelism,
            channels=channels,
            job_parameters=job_parameters,
            cached_files=cached_files,
            state_backend=state_backend,
        )
        self._selectors = {
            i: as_key_selector(_own(selector)) for i, selector in enumerate(key_selectors) if selector is not None
        }
        self._inputs, self._channels = inputs, channels
        self._now = processing_time
        self._epoch = 1
        self._in_epoch = False
        self.is_open = False
        self.printed: list[str] = []
        """lines of ``print()``, filled at the end of an epoch"""
        self.collected: list[Any] = []
        """elements of ``execute_and_collect()``, filled at the end of an epoch"""
        self.fed_back: list[Record] = []
        """records that the end of a loop sends back to its head, filled at the end of an epoch"""
        self.committables: list[Any] = []
        """committables that a sink's writer has handed over, filled at the end of an epoch"""
        self._captured = Captured()
        self._aggregates: dict[str, bytes] = {}
        self.operator = operator_factory()
        name = type(self.operator).__name__
        runtime = OperatorRuntimeContext(
            name, subtask, parallelism, max_parallelism, 0, job_parameters, None, cached_files, lambda: self._now
        )
        self._versions = Versions(state_backend, self._small)
        runtime.new_keyed_state = self._versions.keyed
        types: dict[str, TypeInformation | None] = {tag.tag_id: tag.type_info for tag in tags}
        context = OperatorContext(runtime, name, "the test", output_type, types, lambda: self._now)
        self.operator.setup(context, self._captured)
        self._gate = Gate(self.operator, {(i, sender): i for i in range(inputs) for sender in range(channels)})

    @classmethod
    def for_function(
        cls,
        function: Testable,
        key_selector: Selector | None = None,
        key_selector2: Selector | None = None,
        output_type: TypeInformation | None = None,
        parallelism: int = 1,
        subtask: int = 0,
        max_parallelism: int = 128,
        batch: bool = False,
        broadcast_state_descriptors: Sequence[MapStateDescriptor] = (),
        **settings: Any,
    ) -> OperatorHarness:
        """A harness round the operator that a job would run ``function`` in.

        As in a job the operator gets a pickled copy of the function, and every restored harness a copy of its own.
        ``key_selector2`` is that of the second input; without it both inputs use ``key_selector``. The second input of
        a broadcast function is the broadcast one, without a key; ``broadcast_state_descriptors`` are what ``broadcast``
        of the stream would be given. An ``AsyncFunction`` comes in an ``AsyncFunctionDescriptor``, with its timeout and
        capacity; its results are sure to be there at the end of the epoch.
        """
        choice = choice_for(function, key_selector is not None)
        selectors: list[Selector | None] = []
        if key_selector is not None:
            second = None if choice.broadcast else key_selector2 or key_selector
            selectors = [key_selector, second][: choice.inputs]
        described = (tuple(broadcast_state_descriptors),) if choice.broadcast else ()
        payload = pickled_by_value(choice.describe(choice.adapt(function), *described))
        return cls(
            lambda: make_operator(pickle.loads(payload), batch),
            inputs=choice.inputs,
            key_selectors=selectors,
            output_type=output_type,
            parallelism=parallelism,
            subtask=subtask,
            max_parallelism=max_parallelism,
            **settings,
        )

    @classmethod
    def for_windows(
        cls,
        assigner: WindowAssigner[Any, Any],
        function: Any = None,
        *,
        reduce: Callable[[Any, Any], Any] | ReduceFunction | None = None,
        aggregate: AggregateFunction | None = None,
        trigger: Trigger[Any, Any] | None = None,
        evictor: Evictor[Any, Any] | None = None,
        allowed_lateness: int | TimeSpan = 0,
        late_tag: OutputTag | None = None,
        key_selector: Selector | None = None,
        batch: bool = False,
        **settings: Any,
    ) -> OperatorHarness:
        """A harness round the operator that a job would run these windows in.

            harness = OperatorHarness.for_windows(
                TumblingEventTimeWindows.of(Time.seconds(10)), MyProcessWindowFunction(), key_selector=lambda v: v[0]
            )
            with harness:
                harness.process_element(("a", 1), timestamp=1_000)
                window = TimeWindow(0, 10_000)
                assert harness.state_of("a", "window-contents", window) == [("a", 1)]
                harness.process_watermark(9_999)  # fires

        ``function`` is what ``process`` or ``apply`` would be given, or the window function behind ``reduce`` or
        ``aggregate``, which may then be missing. Without ``key_selector`` the windows are those of ``window_all``.
        Late elements are in ``side_output(late_tag)`` or, without a tag, in ``counter("numLateRecordsDropped")``.

        What an open window holds is ``state_of(key, "window-contents", window)``: the list of its elements, the
        element that they were reduced to, or the accumulator; with an evictor the elements as ``TimestampedValue``. The
        key of ``window_all`` is 0. State that the function keeps for a window is ``state_of(key, name, window)``.
        Windows with the trigger that they come with mostly need no timers: don't count these.

            >>> windows = TumblingEventTimeWindows.of(Time.seconds(1))
            >>> class Total(ProcessWindowFunction):
            ...     def process(self, key, context, elements):
            ...         yield sum(elements)
            >>> with OperatorHarness.for_windows(windows, Total(), key_selector=lambda n: "all") as harness:
            ...     harness.process_elements([(1, 0), (2, 10)])
            ...     harness.process_watermark(999)
            ...     print(harness.values)
            [3]
        """
        spec = window_spec(
            assigner,
            function,
            reduce=reduce,
            aggregate=aggregate,
            trigger=trigger,
            evictor=evictor,
            allowed_lateness=allowed_lateness,
            late_tag=late_tag,
            key_selector=key_selector,
        )
        in_memory = isinstance(settings.get("state_backend") or HashMapStateBackend(), HashMapStateBackend)
        payload = pickled_by_value(replace(spec, strategy=replace(spec.strategy, in_memory=in_memory)))
        selector = key_selector if key_selector is not None else lambda value: 0
        tags = [*settings.pop("side_outputs", ()), *([] if late_tag is None else [late_tag])]
        return cls(
            lambda: make_operator(pickle.loads(payload), batch),
            key_selectors=[selector],
            side_outputs=tags,
            **settings,
        )

    # -- life -----------------------------------------------------------------------------------------------------

    def open(self) -> OperatorHarness:
        """Open the operator and its function; state must have been restored before."""
        self.operator.open()
        for selector in self._selectors.values():
            selector.open(self.operator.context.runtime.without_state())
        self.is_open = True
        return self

    def close(self) -> None:
        """Close the operator and its function."""
        self.is_open = False
        self.operator.close()
        for selector in self._selectors.values():
            selector.close()
        self._versions.close()

    def __enter__(self) -> OperatorHarness:
        return self if self.is_open else self.open()

    def __exit__(self, *exc: object) -> None:
        self.close()

    # -- what comes in --------------------------------------------------------------------------------------------

    def process_element(self, value: Any, timestamp: int | None = None, input: int = 0) -> None:
        """One element, in a chunk of its own."""
        self.process_elements([(value, timestamp)], input)

    def process_elements(self, elements: Iterable[tuple[Any, int | None]], input: int = 0) -> None:
        """(value, timestamp) pairs, all in one chunk.

        >>> class Twice(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield value * 2
        >>> with OperatorHarness.for_function(Twice()) as harness:
        ...     harness.process_elements([(1, 0), (2, 10)])
        ...     print([record.value for record in harness.output])
        [2, 4]
        """
        self._begin()
        pairs = list(elements)
        values = [value for value, _ in pairs]
        timestamps = [timestamp for _, timestamp in pairs]
        keys = None
        if input in self._selectors:
            try:
                keys = each(self._selectors[input].get_key, values, "the key selector failed")
            except PartitioningError as error:
                cause = error.__cause__ or error
                raise self.operator.context.error(cause, error.element, f": {error}") from error
        known = None if timestamps.count(None) == len(timestamps) else timestamps
        self._gate.chunk(Chunk(values, known, keys), input)

    def process_watermark(self, timestamp: int, input: int = 0, channel: int = 0) -> None:
        """A watermark (ms) of one channel; the operator sees the minimum over all channels of all inputs.

        >>> class Wait(KeyedProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         ctx.timer_service().register_event_time_timer(1000)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield timestamp
        >>> with OperatorHarness.for_function(Wait(), key_selector=lambda word: word) as harness:
        ...     harness.process_element("a", 0)
        ...     print(harness.num_event_time_timers())
        ...     harness.process_watermark(1000)
        ...     print(harness.values)
        1
        [1000]
        """
        self._begin()
        self._gate.mark(self._channel(input, channel), timestamp)

    def process_status(self, status: Status, input: int = 0, channel: int = 0) -> None:
        """A channel becomes idle or active."""
        self._begin()
        self._gate.mark(self._channel(input, channel), status)

    def set_processing_time(self, now: int) -> None:
        """Set the clock (ms), as if no element had come since: timers that are due fire, quiet streams become idle.

        Right after ``snapshot_delta`` they fire before the next epoch begins.

            >>> class Wait(KeyedProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         ctx.timer_service().register_processing_time_timer(1000)
            ...     def on_timer(self, timestamp, ctx):
            ...         yield timestamp
            >>> with OperatorHarness.for_function(Wait(), key_selector=lambda word: word) as harness:
            ...     harness.process_element("a", 0)
            ...     harness.set_processing_time(1000)
            ...     print(harness.values)
            [1000]
        """
        self._check_open()
        if type(self.operator).next_due is Operator.next_due:
            self._begin()  # between epochs it does nothing
        with self._versions.firing():
            self._now = now
            self.operator.advance_processing_time(now)
        self._begin()
        self.operator.tick(now)

    def advance_processing_time(self, by: int) -> None:
        """Let ``by`` ms pass."""
        self.set_processing_time(self._now + by)

    def end_slice(self) -> None:
        """End a slice of the epoch, as a task does when no more elements have arrived: operators emit results that they
        held back to combine them, and results of ``AsyncFunction`` that are ready."""
        self._begin()
        self.operator.end_slice()
        self.operator.tick(self._now)

    def end_epoch(self) -> None:
        """End the epoch, as a micro-batch does: timers that are due fire, sinks flush."""
        self._begin()
        operator = self.operator
        operator.advance_processing_time(self._now)
        operator.end_slice()
        operator.tick(self._now)
        operator.end_epoch()
        operator.before_snapshot(self._epoch)
        if isinstance(operator, SinkOperator):
            self.committables.extend(operator.committables())
        elif isinstance(operator, PrintOperator):
            self.printed.extend(operator.take_lines())
        elif isinstance(operator, CollectOperator):
            self.collected.extend(value for part in parts_of(operator.take_results()) for value in pickle.loads(part))
        elif isinstance(operator, CloseWithOperator):
            chunks = [chunk for packet in operator.take_packets() for chunk in decode(packet)]
            self.fed_back.extend(record for chunk in chunks if isinstance(chunk, Chunk) for record in records(chunk))
        aggregates = operator.context.runtime.aggregates
        aggregates.end_epoch()
        self._aggregates = merged(self._aggregates, [aggregates.parts()])
        aggregates.begin_epoch(self._aggregates)
        self._epoch += 1
        self._in_epoch = False

    def end_input(self, input: int | None = None) -> None:
        """Bounded input ends: MAX_WATERMARK, then the end, on all inputs or on one."""
        self._begin()
        for number in range(self._inputs) if input is None else (input,):
            for sender in range(self._channels):
                self._gate.mark((number, sender), MAX_WATERMARK)
                self._gate.mark((number, sender), Status.FINISHED)

    def read(
        self, splits: Sequence[Any] = (), no_more_splits: bool = True, records: int | None = None, stop: bool = False
    ) -> SourceReport:
        """Let a source read its share of an epoch, with these new splits: at most about ``records`` elements.

        The head of a loop reads packets of an exchange (``millrace.runtime.exchange.codec.encode``).
        """
        if not isinstance(self.operator, ReadingOperator):
            raise TypeError(f"{type(self.operator).__name__} has inputs: only sources read, and the heads of loops")
        self._begin()
        order = SourceOrder(tuple(splits), no_more_splits=no_more_splits, stop=stop)
        for _ in self.operator.read(order, self._epoch, ReadingLimits(records)):
            pass
        return self.operator.report()

    def _channel(self, input: int, channel: int) -> tuple[int, int]:
        if not (0 <= input < self._inputs and 0 <= channel < self._channels):
            raise ValueError(f"no channel {channel} of input {input}: {self._inputs} inputs, {self._channels} channels")
        return (input, channel)

    def _check_open(self) -> None:
        if not self.is_open:
            raise RuntimeError("the harness is not open: call open(), or use it in a with statement")

    def _begin(self) -> None:
        self._check_open()
        self._versions.begin()
        if not self._in_epoch and isinstance(self.operator, SinkOperator):
            self.operator.begin_epoch(self._epoch)
        self._in_epoch = True

    # -- what came out --------------------------------------------------------------------------------------------

    @property
    def output(self) -> list[Item]:
        """Records, watermarks and status changes of the main output, in order."""
        return list(self._captured.items)

    def take_output(self) -> list[Item]:
        """The output so far; forgets it."""
        items, self._captured.items = self._captured.items, []
        return items

    @property
    def records(self) -> list[Record]:
        """The elements of the main output."""
        return [item for item in self._captured.items if isinstance(item, Record)]

    @property
    def values(self) -> list[Any]:
        """The elements of the main output, without timestamps."""
        return [record.value for record in self.records]

    def side_output(self, tag: OutputTag | str) -> list[Record]:
        """The elements of a side output.

        >>> odd = OutputTag("odd", Types.INT())
        >>> class Split(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield (odd, value) if value % 2 else value
        >>> with OperatorHarness.for_function(Split()) as harness:
        ...     harness.process_element(1, 0)
        ...     print([record.value for record in harness.side_output(odd)])
        [1]
        """
        return list(self._captured.sides.get(tag if isinstance(tag, str) else tag.tag_id, ()))

    def take_side_outputs(self) -> dict[str, list[Record]]:
        """tag id -> elements so far; forgets them."""
        sides, self._captured.sides = self._captured.sides, {}
        return sides

    # -- state ----------------------------------------------------------------------------------------------------

    @property
    def processing_time(self) -> int:
        """The clock (ms)."""
        return self._now

    @property
    def watermark(self) -> int:
        """The combined watermark of all inputs (ms)."""
        return self._gate.watermark

    def num_event_time_timers(self) -> int:
        """Pending event-time timers of all keys."""
        return len(self._keyed().event_timers)

    def num_processing_time_timers(self) -> int:
        """Pending processing-time timers of all keys."""
        return len(self._keyed().processing_timers)

    def state_of(self, key: Any, state_name: str, namespace: Any = _NO_NAMESPACE) -> Any:
        """A copy of what a state holds for a key: value (or accumulator), list or dict; None for nothing.

        Entries that have expired are left out, unless they may be returned until they are cleaned up. The namespace of
        a window's state is the window.

            >>> class Last(KeyedProcessFunction):
            ...     def open(self, runtime_context):
            ...         self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))
            ...     def process_element(self, value, ctx):
            ...         self.last.update(value)
            >>> with OperatorHarness.for_function(Last(), key_selector=lambda n: "all") as harness:
            ...     harness.process_element(7, 0)
            ...     print(harness.state_of("all", "last"))
            7
        """
        keyed = self._keyed()
        if state_name == CONTENTS and namespace is not _NO_NAMESPACE and isinstance(self.operator, WindowOperatorBase):
            return copy.deepcopy(self.operator.contents_of(key, namespace))
        table = keyed.table(state_name)
        return None if table is None else copy.deepcopy(table.content(_address(key, namespace)))

    def expiry_of(self, key: Any, state_name: str, namespace: Any = _NO_NAMESPACE) -> Any:
        """When what ``state_of`` shows expires (ms): a time, or a list or dict of times; None for nothing."""
        table = self._keyed().table(state_name)
        if table is not None and not isinstance(table, TtlTable):
            raise TypeError(f"state {state_name!r} has no time to live")
        return None if table is None else table.expirations(_address(key, namespace))

    def operator_state_of(self, state_name: str) -> list[Any]:
        """A copy of the items of a list or union list state of the operator."""
        return copy.deepcopy(self._shared().content(state_name) or [])

    def broadcast_state_of(self, state_name: str) -> dict[Any, Any]:
        """A copy of the entries of a broadcast state."""
        return copy.deepcopy(self._shared().content(state_name) or {})

    def _shared(self) -> OperatorStateBackend:
        backend = self.operator.operator_state()
        if not isinstance(backend, OperatorStateBackend):
            raise TypeError(f"{type(self.operator).__name__} has no operator state")
        return backend

    def keys(self, state_name: str) -> list[Any]:
        """The keys for which a state holds something."""
        table = self._keyed().table(state_name)
        return [] if table is None else list(table.keys())

    def _keyed(self) -> KeyedStateBackend:
        backend = self.operator.keyed_state()
        if not isinstance(backend, KeyedStateBackend):
            raise TypeError(f"{type(self.operator).__name__} has no keyed state")
        self._versions.begin()
        return backend

    # -- metrics --------------------------------------------------------------------------------------------------

    @property
    def _measures(self) -> Measures:
        return self.operator.context.runtime.measures

    def metrics(self) -> dict[str, MetricSnapshot]:
        """The operator's own metrics by name, with their groups before them: ``"my_group.my_counter"``.

        >>> class Counted(MapFunction):
        ...     def open(self, runtime_context):
        ...         runtime_context.get_metrics_group().counter("seen").inc()
        ...     def map(self, value):
        ...         return value
        >>> with OperatorHarness.for_function(Counted()) as harness:
        ...     counters = harness.metrics
        """
        return self._measures.metrics.snapshot()

    def counter(self, name: str) -> int:
        """The count of a counter; KeyError if there is none of this name."""
        metric = self.metrics()[name]
        if not isinstance(metric, CounterSnapshot):
            raise TypeError(f"{name!r} is no counter but a {type(metric).__name__}")
        return metric.count

    def accumulators(self) -> dict[str, Any]:
        """Accumulator -> its value in this subtask.

        >>> class Counted(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.seen = runtime_context.get_int_counter("seen")
        ...     def map(self, value):
        ...         self.seen.add(1)
        ...         return value
        >>> with OperatorHarness.for_function(Counted()) as harness:
        ...     harness.process_element("a", 0)
        ...     print(harness.accumulators())
        {'seen': 1}
        """
        return {name: accumulator.get_local_value() for name, accumulator in self._measures.accumulators.items()}

    # -- snapshots ------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The whole state. Ends the epoch first: state is only ever taken between two epochs."""
        self._end_for_snapshot()
        keyed = self.operator.keyed_state()
        if keyed is not None:
            keyed.before_full_snapshot()
        pieces = () if keyed is None else keyed.full_pieces()
        content = [self._small(), *((piece, None, None, None, None) for piece in pieces)]
        return Snapshot.of(content, self._epoch, self._now, whole=True)

    def snapshot_delta(self) -> Snapshot:
        """What changed since the last call; ends the epoch first. ``apply`` it to a new copy that has all before it."""
        self._end_for_snapshot()
        keyed, shared = self.operator.keyed_state(), self.operator.operator_state()
        delta = (
            None if keyed is None else keyed.delta(),
            None if shared is None else shared.delta(),
            self.operator.snapshot(),
            self._gate.delta(),
            self._measures.delta(),
        )
        snapshot = Snapshot.of([delta], self._epoch, self._now, whole=False)
        self._versions.finish(delta)
        return snapshot

    def _end_for_snapshot(self) -> None:
        if self._in_epoch:
            self.end_epoch()
        self._versions.begin()
        self._measures.end_epoch()

    def _small(self) -> OperatorDeltas:
        """The whole state but for the keyed state."""
        shared = self.operator.operator_state()
        whole = None if shared is None else shared.full()
        return (None, whole, self.operator.snapshot(), self._gate.full(), self._measures.full())

    def restore(self, snapshot: Snapshot) -> OperatorHarness:
        """Load a snapshot into this harness, which must be fresh."""
        return self.apply(snapshot)

    def apply(self, delta: Snapshot) -> OperatorHarness:
        """Do the changes of an earlier copy of this operator, one after the other; the harness must not be open yet."""
        if self.is_open:
            raise RuntimeError("restore() and apply() need a harness that was not opened yet; use restored()")
        for keyed, shared, small, gate, measures in self._versions.changes(delta.pieces(), delta.whole):
            if keyed is not None:
                self.operator.keyed_state().apply(keyed)
            if shared is not None:
                self.operator.operator_state().apply(shared)
            if small is not None:
                self.operator.restore(small)
            if gate is not None:
                self._gate.restore(gate)
            if measures is not None:
                self._measures.apply(measures)
        self._epoch, self._now = delta.epoch, delta.processing_time
        return self

    def fresh(self, **settings: Any) -> OperatorHarness:
        """A new harness with a new operator and the same settings but for these; neither restored nor opened."""
        return self._another(**{"processing_time": self._now, **settings})

    def restored(self) -> OperatorHarness:
        """A new, open harness that is restored from a snapshot of this one; its output is empty."""
        return self.fresh().restore(self.snapshot()).open()


def _own(selector: Selector) -> Selector:
    """As in a job every copy of the operator has a copy of the selector."""
    return pickle.loads(pickled_by_value(selector)) if isinstance(selector, KeySelector) else selector


def _address(key: Any, namespace: Any) -> Any:
    return key if namespace is _NO_NAMESPACE else Scoped(key, namespace)


def interval_join_harness(
    function: ProcessJoinFunction,
    lower_bound: TimeSpan,
    upper_bound: TimeSpan,
    key_selector: Selector,
    key_selector2: Selector | None = None,
    *,
    left_late_tag: OutputTag | None = None,
    right_late_tag: OutputTag | None = None,
    **settings: Any,
) -> OperatorHarness:
    """A harness round the operator in which ``interval_join().between(...)`` with these bounds would run ``function``.

    Input 0 is the left stream, input 1 the right one; both bounds are inclusive. Without ``key_selector2`` both inputs
    use ``key_selector``. ``settings`` are those of ``OperatorHarness``.

        >>> class Pair(ProcessJoinFunction):
        ...     def process_element(self, left, right, ctx):
        ...         yield left, right
        >>> with interval_join_harness(Pair(), Time.seconds(-1), Time.seconds(1), lambda n: n) as harness:
        ...     harness.process_element(7, 1000, 0)
        ...     harness.process_element(7, 1500, 1)
        ...     print(harness.output)
        [Record(value=(7, 7), timestamp=1500)]
    """
    tags = [None if tag is None else tag.tag_id for tag in (left_late_tag, right_late_tag)]
    spec = specs.IntervalJoin(to_millis(lower_bound), to_millis(upper_bound), function, *tags)
    payload = pickled_by_value(spec)
    return OperatorHarness(
        lambda: make_operator(pickle.loads(payload), final=False),
        inputs=2,
        key_selectors=[key_selector, key_selector2 or key_selector],
        **settings,
    )
