"""What a user function sees of its surroundings: a ``RuntimeContext`` with metrics, accumulators and global aggregates.

Copies of a subtask (one per worker process) take turns. So that each continues where the last one ended, the changes of
metrics and accumulators in an epoch are part of the task's state. The driver shows the reports of completed epochs
only.

All subtasks of an operator contribute to a global aggregate, and all see its value one epoch later. A subtask adds to
an accumulator of its own, which travels to the driver at the end of the epoch. The driver merges it into the operator's
accumulator, in the order of the subtasks, and the next order carries the result to all of them. So a failed epoch adds
nothing, and the value that a subtask sees does not depend on timing.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from millrace.common.accumulators import (
    Accumulator,
    DoubleCounter,
    GrowingAccumulator,
    Histogram,
    IntCounter,
    LongCounter,
)
from millrace.common.files.file_access import DistributedCache
from millrace.common.functions import AggregateFunction, GlobalAggregateManager, RuntimeContext
from millrace.common.jobs import JobID, JobInfo
from millrace.common.state import StateDescriptor
from millrace.metrics.metricbase import Measured, MetricGroup
from millrace.metrics.report import GaugeSnapshot
from millrace.runtime.clocks import now_millis
from millrace.runtime.failure import describe
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.storage import dumps

# Accumulators

AnyAccumulator = Accumulator[Any, Any]
A = TypeVar("A", bound=AnyAccumulator)
"""Type of an accumulator."""


class AccumulatorChange(NamedTuple):
    """The change of an accumulator in an epoch."""

    payload: bytes
    """a pickled accumulator"""
    whole: bool
    """whether the payload replaces the accumulator or is merged into it"""


class Accumulators:
    """The accumulators of a subtask by name, in one copy of it. Changes are applied to the other copies and to the
    driver's."""

    def __init__(self) -> None:
        self._by_name: dict[str, AnyAccumulator] = {}
        self._added: set[str] = set()
        """names that the user's function has requested in this copy; the other accumulators came from another copy"""
        self._known: dict[str, bytes] = {}
        """name -> pickled state at the last ``changes``; for a ``GrowingAccumulator`` the entry only says that it was
        sent"""

    def add(self, name: str, accumulator: AnyAccumulator) -> None:
        """Raises ``ValueError`` if the function has one of this name already."""
        if not isinstance(accumulator, Accumulator):
            raise TypeError(f"the accumulator {name!r} must be an Accumulator, not {accumulator!r}")
        if name in self._added:
            raise ValueError(f"the accumulator {name!r} exists already: it can be added once")
        there = self._by_name.get(name)
        if there is not None:
            _check_type(name, there, type(accumulator))
            _replace(accumulator, there)
            _everybody_knows(accumulator)
        self._by_name[name] = accumulator
        self._added.add(name)

    def expect_again(self) -> None:
        """A new instance of the function takes over, and will add its accumulators as the old one did."""
        self._added.clear()

    def get(self, name: str) -> AnyAccumulator | None:
        """The accumulator of this name; None: there is none."""
        return self._by_name.get(name)

    def get_or_add(self, name: str, kind: type[A]) -> A:
        """The accumulator of this name, a new one if there is none. Raises ``TypeError`` if it is of another kind."""
        if name not in self._by_name:
            self._by_name[name] = kind()
        self._added.add(name)
        accumulator = self._by_name[name]
        _check_type(name, accumulator, kind)
        return accumulator  # type: ignore[return-value]

    def items(self) -> Iterator[tuple[str, AnyAccumulator]]:
        return iter(self._by_name.items())

    def changes(self) -> dict[str, AccumulatorChange]:
        """The changes since the last call. Raises what pickle raises, naming the accumulator."""
        changed = {}
        for name, accumulator in self._by_name.items():
            if isinstance(accumulator, GrowingAccumulator):
                increment = accumulator.take_increment()
                if name not in self._known:
                    changed[name] = AccumulatorChange(_pickled(name, accumulator), True)
                elif increment is not None:
                    changed[name] = AccumulatorChange(_pickled(name, increment), False)
                self._known[name] = b""
                continue
            payload = _pickled(name, accumulator)
            if self._known.get(name) != payload:
                self._known[name] = payload
                changed[name] = AccumulatorChange(payload, True)
        return changed

    def full(self) -> dict[str, AccumulatorChange]:
        """All accumulators as a whole."""
        return {name: AccumulatorChange(_pickled(name, acc), True) for name, acc in self._by_name.items()}

    def apply(self, changes: dict[str, AccumulatorChange]) -> None:
        """Apply the changes of another copy. The objects that the user's function holds stay the same."""
        for name, (payload, whole) in changes.items():
            change = pickle.loads(payload)
            there = self._by_name.get(name)
            if there is None:
                self._by_name[name] = there = change
            elif whole:
                _replace(there, change)
            else:
                there.merge(change)
            _everybody_knows(there)
            self._known[name] = payload


def _replace(accumulator: AnyAccumulator, content: AnyAccumulator) -> None:
    accumulator.reset_local()
    accumulator.merge(content)


def _everybody_knows(accumulator: AnyAccumulator) -> None:
    """Drop the increment of a ``GrowingAccumulator``, because its content came from other copies."""
    if isinstance(accumulator, GrowingAccumulator):
        accumulator.take_increment()


def _check_type(name: str, there: AnyAccumulator, wanted: type) -> None:
    if type(there) is not wanted:
        raise TypeError(f"the accumulator {name!r} is a {type(there).__name__}, not a {wanted.__name__}")


def _pickled(name: str, accumulator: AnyAccumulator) -> bytes:
    try:
        return dumps(accumulator)
    except Exception as error:
        raise TypeError(f"the accumulator {name!r} can't be pickled: {error}") from error


# Metrics and accumulators of a subtask


@dataclass(frozen=True)
class MeasureState:
    """Metrics and accumulators on their way to another copy, or to the driver."""

    metrics: tuple[Measured, ...] = ()
    """metrics with their current values, not increments"""
    accumulators: dict[str, AccumulatorChange] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.metrics or self.accumulators)


def counted(states: Iterable[MeasureState]) -> MeasureState | None:
    """A whole state and the changes since, oldest first, as one whole state; None: there is none."""
    metrics: dict[tuple[str, ...], Measured] = {}
    accumulators = Accumulators()
    for state in states:
        metrics.update((metric.path, metric) for metric in state.metrics)
        accumulators.apply(state.accumulators)
    return MeasureState(tuple(metrics.values()), accumulators.full()) or None


class Measures:
    """The metrics and accumulators of a subtask, in one copy of it."""

    def __init__(self, clock: Callable[[], int]) -> None:
        """``clock``: processing time in ms."""
        self.metrics = MetricGroup(clock=lambda: clock() / 1000)
        self.accumulators = Accumulators()
        self._delta: MeasureState | None = None
        self._report: MeasureState | None = None
        self._counts: dict[tuple[str, ...], int] = {}
        self._reported = False

    def end_epoch(self) -> None:
        """Find the changes since the last call. Raises ``TypeError`` for an accumulator that can't be pickled."""
        measured = tuple(self.metrics.measured())
        gauges = tuple(metric for metric in measured if isinstance(metric.value, GaugeSnapshot))
        changed = tuple(metric for metric in measured if self._has_changed(metric))
        accumulators = self.accumulators.changes()
        self._delta = MeasureState(changed, accumulators) or None
        if self._reported:
            self._report = MeasureState((*changed, *gauges), accumulators) or None
        else:
            # The driver may be a new one that knows nothing of earlier epochs.
            self._report = MeasureState(measured, self.accumulators.full()) or None
            self._reported = True

    def delta(self) -> MeasureState | None:
        """The changes of the last epoch, for the task's state; None: there are none."""
        return self._delta

    def report(self) -> MeasureState | None:
        """The report for the driver after the last epoch; None: nothing has changed."""
        return self._report

    def full(self) -> MeasureState | None:
        """All metrics and accumulators, for the task's whole state; None: there are none."""
        restorable = (metric for metric in self.metrics.measured() if not isinstance(metric.value, GaugeSnapshot))
        return MeasureState(tuple(restorable), self.accumulators.full()) or None

    def apply(self, state: MeasureState) -> None:
        """Apply the changes of another copy."""
        for metric in state.metrics:
            self.metrics.restore(metric)
            self._has_changed(metric)
        self.accumulators.apply(state.accumulators)

    def _has_changed(self, metric: Measured) -> bool:
        """Every change of a counter, meter or distribution shows in its count."""
        if isinstance(metric.value, GaugeSnapshot):
            return False
        before = self._counts.get(metric.path)
        self._counts[metric.path] = metric.value.count
        return before != metric.value.count


# Global aggregates

Known = Mapping[str, bytes]
"""name -> accumulator, pickled"""


class AddedPart(NamedTuple):
    """The part that one subtask adds to a global aggregate in an epoch, pickled."""

    function: bytes
    accumulator: bytes


class GlobalAggregateError(Exception):
    """The parts of an aggregate can't be merged."""


class SubtaskAggregates(GlobalAggregateManager):
    """Global aggregates in a subtask."""

    def __init__(self) -> None:
        self._known: Known = {}
        self._results: dict[str, Any] = {}
        self._added: dict[str, tuple[AggregateFunction, Any]] = {}
        self._parts: dict[str, AddedPart] = {}

    def begin_epoch(self, known: Known) -> None:
        """Begin an epoch; ``known`` contains what all subtasks added in complete epochs."""
        self._known, self._results = known, {}
        self._parts = {}

    def update_global_aggregate(
        self, aggregate_name: str, aggregand: Any, aggregate_function: AggregateFunction
    ) -> Any:
        if not isinstance(aggregate_function, AggregateFunction):
            raise TypeError(
                f"the global aggregate {aggregate_name!r} needs an AggregateFunction: {aggregate_function!r}"
            )
        function, accumulator = self._added.get(aggregate_name) or (
            aggregate_function,
            aggregate_function.create_accumulator(),
        )
        self._added[aggregate_name] = function, function.add(aggregand, accumulator)
        return self._result(aggregate_name, aggregate_function)

    def get_global_aggregate(self, aggregate_name: str, aggregate_function: AggregateFunction) -> Any:
        return self._result(aggregate_name, aggregate_function)

    def _result(self, name: str, function: AggregateFunction) -> Any:
        if name not in self._known:
            return None
        if name not in self._results:
            self._results[name] = function.get_result(pickle.loads(self._known[name]))
        return self._results[name]

    def end_epoch(self) -> None:
        """The epoch has ended: pickle what was added. Raises what pickling raises."""
        added, self._added = self._added, {}
        self._parts = {name: AddedPart(dumps(function), dumps(part)) for name, (function, part) in added.items()}

    def parts(self) -> dict[str, AddedPart]:
        """Name -> the part that this subtask added in the epoch that has ended."""
        return self._parts


def merged(known: Known, subtasks: Iterable[Mapping[str, AddedPart]]) -> dict[str, bytes]:
    """The accumulators of an operator's global aggregates after an epoch. :param known: the accumulators before it.

    :param subtasks: the parts of each subtask, in the order of their indexes.
    :raises GlobalAggregateError: a function failed, or can't be loaded here.
    """
    found: dict[str, Any] = {}
    for parts in subtasks:
        for name, part in parts.items():
            try:
                function: AggregateFunction = pickle.loads(part.function)
                accumulator = pickle.loads(part.accumulator)
                if name in found:
                    accumulator = function.merge(found[name], accumulator)
                elif name in known:
                    accumulator = function.merge(pickle.loads(known[name]), accumulator)
            except Exception as error:
                raise GlobalAggregateError(
                    f"the global aggregate {name!r} could not be merged on the driver: {describe(error)}"
                ) from error
            found[name] = accumulator
    return {**known, **{name: dumps(accumulator) for name, accumulator in found.items()}}


class GlobalAggregates:
    """Global aggregates on the driver, by the uid of their operators."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, bytes]] = {}

    def after(self, added: Iterable[tuple[str, int, Mapping[str, AddedPart]]]) -> dict[str, dict[str, bytes]]:
        """The accumulators after an epoch; ``known`` is not changed yet.

        :param added: (uid, subtask, parts), in any order.
        :raises GlobalAggregateError: as ``merged``.
        """
        by_uid: dict[str, list[tuple[int, Mapping[str, AddedPart]]]] = {}
        for uid, subtask, parts in added:
            if parts:
                by_uid.setdefault(uid, []).append((subtask, parts))
        news = {
            uid: merged(self.known.get(uid, {}), (parts for _, parts in sorted(found, key=lambda item: item[0])))
            for uid, found in by_uid.items()
        }
        return {**self.known, **news}


# The context


class OperatorRuntimeContext(RuntimeContext):
    """The runtime context of a subtask: its identity, its metrics and, on a keyed stream, its state."""

    def __init__(
        self,
        task_name: str,
        subtask: int,
        parallelism: int,
        max_parallelism: int,
        attempt: int = 0,
        job_parameters: dict[str, str] | None = None,
        job: JobInfo | None = None,
        cached_files: Mapping[str, str] | None = None,
        clock: Callable[[], int] = now_millis,
    ) -> None:
        self._task_name = task_name
        self._subtask = subtask
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._attempt = attempt
        self._job_parameters = job_parameters or {}
        self._job = job if job is not None else JobInfo(JobID("0" * 32), task_name)
        self._cache = DistributedCache(cached_files or {})
        self.measures = Measures(clock)
        self.aggregates = SubtaskAggregates()
        self.keyed: KeyedStateBackend | None = None
        """set by keyed operators"""
        self.new_keyed_state: Callable[[StateTime], KeyedStateBackend] = KeyedStateBackend
        """makes the keyed state of those operators"""
        self.restored_checkpoint: int | None = None
        """the epoch whose end state this copy was restored from; None: the job begins"""

    def get_task_name(self) -> str:
        return self._task_name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._subtask

    def get_attempt_number(self) -> int:
        return self._attempt

    def get_task_name_with_subtasks(self) -> str:
        return f"{self._task_name} ({self._subtask + 1}/{self._parallelism})"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._job_parameters.get(key, default_value)

    def get_global_job_parameters(self) -> dict[str, str]:
        return dict(self._job_parameters)

    def get_job_info(self) -> JobInfo:
        return self._job

    def get_metrics_group(self) -> MetricGroup:
        return self.measures.metrics

    def get_distributed_cache(self) -> DistributedCache:
        return self._cache

    def get_global_aggregate_manager(self) -> SubtaskAggregates:
        return self.aggregates

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        self.measures.accumulators.add(name, accumulator)

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        return self.measures.accumulators.get(name)

    def get_int_counter(self, name: str) -> IntCounter:
        return self.measures.accumulators.get_or_add(name, IntCounter)

    def get_long_counter(self, name: str) -> LongCounter:
        return self.measures.accumulators.get_or_add(name, LongCounter)

    def get_double_counter(self, name: str) -> DoubleCounter:
        return self.measures.accumulators.get_or_add(name, DoubleCounter)

    def get_histogram(self, name: str) -> Histogram:
        return self.measures.accumulators.get_or_add(name, Histogram)

    def without_state(self) -> OperatorRuntimeContext:
        """The context for functions besides the operator's own, such as key selectors: they have no keyed state."""
        context = copy.copy(self)
        context.keyed = None
        return context

    def get_any(self, state_descriptor: StateDescriptor) -> Any:
        if self.keyed is None:
            raise RuntimeError(
                f"Keyed state {state_descriptor.get_name()!r} can only be used on a keyed stream, i.e. after key_by()."
            )
        return self.keyed.get_any(state_descriptor)
