"""One operator of a task with all that belongs to it: its state, its reports, and its timers between epochs.

Between two epochs processing-time timers fire when they are due. All of that belongs to the next epoch. Emitted
elements are held back at the operators' outputs until it begins, so no later operator runs, and no sink is touched.
Changes of state are in the next delta, and until that epoch is acknowledged only in the memory of this copy. If the
next epoch does not start from this copy of the task, the copy is dropped, with everything in it.

The size of each keyed state is estimated now and then from a few entries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from millrace.runtime.bases.epoch_protocol import (
    NO_TIMES,
    Latency,
    OperatorReport,
    OperatorSoFar,
    OperatorTimes,
    StateQuery,
)
from millrace.runtime.bases.operator import Operator, ReadingOperator
from millrace.runtime.bases.runtime_context import Measures
from millrace.runtime.exchange.keys import key_group, subtask_of_group, with_one_nan
from millrace.runtime.operators.iteration import CloseWithOperator
from millrace.runtime.operators.job_graph import OperatorInfo
from millrace.runtime.operators.sinks import CollectOperator, PrintOperator, SinkOperator
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.figures import OF_STATES, OF_TASK, Figures, StoreGauges
from millrace.runtime.state.info import StateInfo
from millrace.runtime.state.restoring.key_forms import Form
from millrace.runtime.state.restoring.saved import SubtaskState
from millrace.runtime.state.working import WorkingState
from millrace.runtime.storage import dumps
from millrace.runtime.tasks.task_figures import WAITING, During, work_slot, write_slot
from millrace.runtime.tasks.waiting import Progress, WithWaiting, parted
from millrace.runtime.tasks.wiring import Fork, Gate

# Sizes of states

PAUSE_MS = 10_000
"""The shortest interval between two estimates (ms)."""
SAMPLE = 8
"""The number of entries in a sample, and of elements in each entry that is a list or a map."""
DEPTH = 3


class StateSizes:
    """The estimated sizes of the keyed states of one operator in one subtask."""

    def __init__(self) -> None:
        self._told: int | None = None

    def report(self, keyed: Any, now: Callable[[], int]) -> dict[str, int] | None:
        """Name of each state -> size in bytes; None: nothing new. States that share the task's environment on disk are
        left out, since nothing tells them apart.

        :param keyed: the operator's ``keyed_state``.
        """
        if not isinstance(keyed, KeyedStateBackend):
            return None
        at = now()
        if self._told is not None and at - self._told < PAUSE_MS:
            return None
        self._told = at
        sizes = ((name, size) for name, size in keyed.sizes().items() if isinstance(size, (int, dict)))
        return {name: size if isinstance(size, int) else int(about_bytes(size)) for name, size in sizes} or None


def about_bytes(value: Any, depth: int = DEPTH) -> float:
    """The approximate size of a pickled value in bytes, estimated from a few parts if it has many."""
    if depth and isinstance(value, dict) and len(value) > SAMPLE:
        return _by_sample(islice(value.items(), SAMPLE), len(value), depth)
    if depth and isinstance(value, (list, tuple)) and len(value) > SAMPLE:
        return _by_sample(value[:: -(-len(value) // SAMPLE)], len(value), depth)
    if depth and isinstance(value, (list, tuple)):
        return sum(about_bytes(part, depth - 1) for part in value)
    try:
        return len(dumps(value))
    except Exception:
        return 0.0  # who stores it says so


def _by_sample(parts: Iterable[Any], count: int, depth: int) -> float:
    sizes = [about_bytes(part, depth - 1) for part in parts]
    return sum(sizes) / len(sizes) * count


# Members

OperatorDeltas = tuple[Any, Any, Any, Any, Any]
"""(keyed delta, operator state's delta, small state, gate state, measures); None for a part without changes"""

TaskDelta = dict[str, OperatorDeltas]
"""operator uid -> its deltas"""


def has_changes(delta: OperatorDeltas) -> bool:
    keyed, shared, *others = delta
    return bool(keyed) or bool(shared) or any(part is not None for part in others)


class Latest:
    """Finds out whether a small state has changed since the last call."""

    def __init__(self) -> None:
        self._pickled: bytes | None = None

    def if_new(self, state: Any) -> Any:
        """The state; None: it has not changed. It is changed in place, so its bytes are compared."""
        pickled = None if state is None else dumps(state)
        if pickled == self._pickled:
            return None
        self._pickled = pickled
        return state


class Member:
    """One operator of the task, with its gate, fork and state."""

    def __init__(
        self, info: OperatorInfo, subtask: int, operator: Operator, fork: Fork, gate: Gate, number: int = 0
    ) -> None:
        """:param number: its index among the operators of the task."""
        self.info = info
        self.subtask = subtask
        self.operator = operator
        self.fork = fork
        self.gate = gate
        self.number = number
        self.marked = 0
        """when the source last sent a latency mark (ms)"""
        self._state_sizes = StateSizes()
        self._gauges = StoreGauges(self.measures.metrics)
        self._states_reported: tuple[StateInfo, ...] = ()
        self._small = Latest()
        self._has_waited = False
        self._writing = gate.watch.during(write_slot(number))

    def working(self) -> During:
        """A context whose time is work of the operator."""
        return self.gate.watch.during(work_slot(self.number))

    def writing(self) -> During:
        """A context whose time is that until the operator's output is taken."""
        return self._writing

    def read_on(self, reading: Iterator[None], progress: Progress) -> bool:
        """Let a source read until its next poll or piece; returns whether it goes on. A poll that brought nothing
        counts as waiting."""
        watch, slot = self.gate.watch, work_slot(self.number)
        before, known = watch.spent[slot], self.fork.records
        with self.working():
            progress.at(self.gate)
            going_on = next(reading, self) is None
            progress.at(None)
        if self.fork.records == known:
            watch.move(slot, WAITING, watch.spent[slot] - before)
        return going_on

    def delta(self) -> OperatorDeltas:
        """The state changes of the epoch."""
        keyed, shared = self.operator.keyed_state(), self.operator.operator_state()
        return (
            None if keyed is None else keyed.delta(),
            None if shared is None else shared.delta(),
            self._small.if_new(self._snapshot()),
            self.gate.delta(),
            self.measures.delta(),
        )

    def _snapshot(self) -> Any:
        """The operator's small state with the waiting input of its gate, and the event times of key groups that were
        ahead. Once there was anything to store it is stored always, because a state of None would not replace the one
        before."""
        waiting, times = self.gate.packed(), self.gate.times
        self._has_waited = self._has_waited or bool(waiting) or times is not None
        small = self.operator.snapshot()
        return WithWaiting(small, waiting, times) if self._has_waited else small

    def restore_small(self, small: Any) -> None:
        """Restore a ``_snapshot``."""
        own, waiting = parted(small)
        self._has_waited = isinstance(small, WithWaiting)
        self.gate.waiting = deque(waiting)
        self.gate.be_ahead(small.ahead if isinstance(small, WithWaiting) else None)
        if own is not None:
            self.operator.restore(own)

    def added_bytes(self, delta: OperatorDeltas) -> int:
        """The approximate bytes of the last delta that only add to the state."""
        keyed = self.operator.keyed_state()
        return 0 if keyed is None or delta[0] is None else keyed.added_bytes(delta[0])

    def full_pieces(self) -> Iterator[OperatorDeltas]:
        """The whole state for a checkpoint: first the small parts, then the keyed state."""
        keyed, shared = self.operator.keyed_state(), self.operator.operator_state()
        whole = None if shared is None else shared.full()
        yield (None, whole, self._snapshot(), self.gate.full(), self.measures.full())
        if keyed is not None:
            for piece in keyed.told_pieces():
                yield (piece, None, None, None, None)

    def whole(self) -> SubtaskState:
        """The whole state for a savepoint."""
        keyed, shared = self.operator.keyed_state(), self.operator.operator_state()
        small, waiting, times = self.operator.snapshot(), self.gate.packed(), self.gate.times
        return SubtaskState(
            None if keyed is None else keyed.full_pieces(),
            None if shared is None else shared.full(),
            small if not waiting and times is None else WithWaiting(small, waiting, times),
            self.gate.watermark,
        )

    def stored(self, query: StateQuery) -> Any:
        """What the state holds for the query's key; None: nothing, or the key belongs to another subtask."""
        keyed, info = self.operator.keyed_state(), self.info
        table = None if keyed is None else keyed.table(query.state)
        key = with_one_nan(query.key)
        group = key_group(key, info.max_parallelism)
        if table is None or subtask_of_group(group, info.max_parallelism, info.parallelism) != self.subtask:
            return None
        return table.content(key)

    def info_of(self, state: str) -> StateInfo | None:
        """The description of a keyed state by its function; None: it has not been requested."""
        keyed = self.operator.keyed_state()
        info: StateInfo | None = None if keyed is None else keyed.infos.get(state)
        return info

    def new_states(self) -> tuple[StateInfo, ...] | None:
        """All states, if their description has changed since the last call; else None."""
        backends = (self.operator.keyed_state(), self.operator.operator_state())
        infos = tuple(info for backend in backends if backend is not None for info in backend.described())
        if infos == self._states_reported:
            return None
        self._states_reported = infos
        return infos

    @property
    def measures(self) -> Measures:
        return self.operator.context.runtime.measures

    def tell_of_states(self, store: Figures) -> None:
        """Let gauges report what the operator's states tell of themselves.

        :param store: what the store of the whole task tells; empty: another operator reports it.
        """
        keyed = self.operator.keyed_state()
        figures = keyed.figures() if isinstance(keyed, KeyedStateBackend) else {}
        found: dict[tuple[str, ...], Figures] = {(OF_STATES, name): each for name, each in figures.items()}
        if store:
            found[OF_TASK,] = store
        self._gauges.take(found)

    @contextmanager
    def taking_over(self) -> Iterator[None]:
        """A context in which errors name the operator whose state is restored."""
        try:
            yield
        except Exception as error:
            raise self.operator.context.error(error, during=" to take over its earlier state") from error

    def _take_latencies(self) -> tuple[Latency, ...]:
        taken, self.gate.latencies = self.gate.latencies, []
        return tuple((mark.source, mark.subtask, millis) for mark, millis in taken)

    def so_far(self, times: OperatorTimes) -> OperatorSoFar:
        """What the operator has done so far in the running epoch; from any thread."""
        operator, gate, fork = self.operator, self.gate, self.fork
        return OperatorSoFar(
            self.info.id,
            self.subtask,
            gate.records,
            fork.records,
            gate.watermark,
            fork.watermark,
            gate.bytes,
            fork.bytes,
            times,
            operator.holds_back if isinstance(operator, ReadingOperator) else None,
        )

    def _take_key_form(self) -> Form:
        taken, self.gate.key_form = self.gate.key_form, None
        return taken

    def report(self, times: OperatorTimes = NO_TIMES) -> OperatorReport:
        """What the operator did in the epoch; takes printed and collected elements out."""
        operator = self.operator
        return OperatorReport(
            operator=self.info.id,
            subtask=self.subtask,
            records_in=self.gate.records,
            records_out=self.fork.records,
            watermark=self.gate.watermark,
            source=operator.report() if isinstance(operator, ReadingOperator) else None,
            committables=operator.committables() if isinstance(operator, SinkOperator) else (),
            printed=operator.take_lines() if isinstance(operator, PrintOperator) else (),
            collected=operator.take_results() if isinstance(operator, CollectOperator) else (),
            fed_back=operator.take_packets() if isinstance(operator, CloseWithOperator) else (),
            watermark_out=self.fork.watermark,
            measures=self.measures.report(),
            writer_states=operator.writer_states() if isinstance(operator, SinkOperator) else (),
            states=self.new_states(),
            aggregates=self.operator.context.runtime.aggregates.parts(),
            bytes_in=self.gate.bytes,
            bytes_out=self.fork.bytes,
            times=times,
            heavy_keys=None if self.gate.keys is None else self.gate.keys.report(operator.context.clock()),
            latencies=self._take_latencies(),
            state_sizes=self._state_sizes.report(operator.keyed_state(), operator.context.clock),
            waiting=len(self.gate.waiting),
            key_form=self._take_key_form(),
        )


# Between two epochs

MOST_HELD = 100_000
"""The number of held-back elements at which a task fires no further timers before the next epoch. Timers of one time
can't always be divided."""
MOST_CHANGED = 100_000
"""The number of changed entries of state outside memory, in the last epoch or since, at which no further timers
fire."""


class BetweenEpochs:
    """Fires the timers of one task between epochs.

    :param members: operators in the order in which elements pass them.
    :param working: the state of the task.
    """

    def __init__(self, members: Iterable[Member], working: WorkingState) -> None:
        self._working = working
        self._members = [member for member in members if type(member.operator).next_due is not Operator.next_due]
        self._failure: BaseException | None = None

    def next_due(self) -> int | None:
        """When the earliest timer that may fire is due (ms); None: there is none."""
        members = self._members
        if not members or self._failure is not None or sum(member.fork.held for member in members) >= MOST_HELD:
            return None
        if self._working.pending() >= MOST_CHANGED:
            return None
        try:
            with self._working.looking() as same:
                dues = [member.operator.next_due() for member in members] if same else []
        except Exception as error:
            self._failure = error
            return None
        return min((due for due in dues if due is not None), default=None)

    def fire(self, now: int) -> None:
        """Fire what is due at ``now`` (ms). If that fails, the next epoch fails."""
        try:
            with self._working.firing() as same:
                for member in self._members if same else ():
                    due = member.operator.next_due()
                    if due is not None and due <= now:
                        with member.fork.holding():
                            member.operator.advance_processing_time(now)
        except BaseException as error:
            self._failure = error

    def settle(self) -> None:
        """An epoch begins: emit the elements that were held back, and raise the error of a timer.

        :raises BaseException: what a timer has raised.
        """
        if self._failure is not None:
            raise self._failure
        for member in reversed(self._members):  # what is further down the stream came to be without what is above it
            member.fork.release()
