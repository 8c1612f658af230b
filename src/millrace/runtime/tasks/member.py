"""One operator of a task with all that belongs to it, as the task saves, restores and reports it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millrace.runtime.bases.base import Operator, ReadingOperator
from millrace.runtime.context.measures import Measures
from millrace.runtime.exchange.keygroups import key_group, subtask_of_group
from millrace.runtime.exchange.nan_keys import with_one_nan
from millrace.runtime.jobs.job import OperatorInfo
from millrace.runtime.operators.close_with import CloseWithOperator
from millrace.runtime.operators.collect import CollectOperator, PrintOperator
from millrace.runtime.operators.sink import SinkOperator
from millrace.runtime.pickling import dumps
from millrace.runtime.protocol.epoch import NO_TIMES, Latency, OperatorReport, StateQuery
from millrace.runtime.protocol.so_far import OperatorSoFar
from millrace.runtime.protocol.times import OperatorTimes
from millrace.runtime.state.info import StateInfo
from millrace.runtime.state.restoring.key_forms import Form
from millrace.runtime.state.restoring.saved import SubtaskState
from millrace.runtime.tasks.state_sizes import StateSizes
from millrace.runtime.tasks.waiting import WithWaiting, parted
from millrace.runtime.tasks.wiring import Fork, Gate

OperatorDeltas = tuple[Any, Any, Any, Any, Any]
"""(keyed delta, operator state's delta, small state, gate state, measures); None for what is missing"""

TaskDelta = dict[str, OperatorDeltas]
"""by the operator's uid"""


def has_changes(delta: OperatorDeltas) -> bool:
    keyed, shared, *others = delta
    return bool(keyed) or bool(shared) or any(part is not None for part in others)


class Latest:
    """Tells whether something small is as it was the last time."""

    def __init__(self) -> None:
        self._pickled: bytes | None = None

    def if_new(self, state: Any) -> Any:
        """The state, None if it is the same. It is changed in place, so only its bytes can tell."""
        pickled = None if state is None else dumps(state)
        if pickled == self._pickled:
            return None
        self._pickled = pickled
        return state


class Member:
    """One operator of the task with all that belongs to it."""

    def __init__(
        self, info: OperatorInfo, subtask: int, operator: Operator, fork: Fork, gate: Gate, number: int = 0
    ) -> None:
        """:param number: its place among those of the task."""
        self.info = info
        self.subtask = subtask
        self.operator = operator
        self.fork = fork
        self.gate = gate
        self.number = number
        self.marked = 0
        """when a source sent its last latency mark (ms)"""
        self._state_sizes = StateSizes()
        self._states_reported: tuple[StateInfo, ...] = ()
        self._small = Latest()
        self._has_waited = False

    def delta(self) -> OperatorDeltas:
        """What the epoch changed."""
        keyed, shared = self.operator.keyed_state(), self.operator.operator_state()
        return (
            None if keyed is None else keyed.delta(),
            None if shared is None else shared.delta(),
            self._small.if_new(self._snapshot()),
            self.gate.delta(),
            self.measures.delta(),
        )

    def _snapshot(self) -> Any:
        """Its small state with what waits at its gate, and for which keys event time was further; from the first time
        on that there is any of it, since a state of None says nothing of what was before."""
        waiting, times = self.gate.packed(), self.gate.times
        self._has_waited = self._has_waited or bool(waiting) or times is not None
        small = self.operator.snapshot()
        return WithWaiting(small, waiting, times) if self._has_waited else small

    def restore_small(self, small: Any) -> None:
        """Go on from a ``_snapshot``."""
        own, waiting = parted(small)
        self._has_waited = isinstance(small, WithWaiting)
        self.gate.waiting = deque(waiting)
        self.gate.be_ahead(small.ahead if isinstance(small, WithWaiting) else None)
        if own is not None:
            self.operator.restore(own)

    def added_bytes(self, delta: OperatorDeltas) -> int:
        """About how many bytes of the last delta only add to the state."""
        keyed = self.operator.keyed_state()
        return 0 if keyed is None or delta[0] is None else keyed.added_bytes(delta[0])

    def full_pieces(self) -> Iterator[OperatorDeltas]:
        """Everything, for a checkpoint: first what is small, then the keyed state."""
        keyed, shared = self.operator.keyed_state(), self.operator.operator_state()
        whole = None if shared is None else shared.full()
        yield (None, whole, self._snapshot(), self.gate.full(), self.measures.full())
        if keyed is not None:
            for piece in keyed.told_pieces():
                yield (piece, None, None, None, None)

    def whole(self) -> SubtaskState:
        """Everything, for a savepoint."""
        keyed, shared = self.operator.keyed_state(), self.operator.operator_state()
        small, waiting, times = self.operator.snapshot(), self.gate.packed(), self.gate.times
        return SubtaskState(
            None if keyed is None else keyed.full_pieces(),
            None if shared is None else shared.full(),
            small if not waiting and times is None else WithWaiting(small, waiting, times),
            self.gate.watermark,
        )

    def stored(self, query: StateQuery) -> Any:
        """What the state holds for the key; None for nothing, and for a key of another subtask."""
        keyed, info = self.operator.keyed_state(), self.info
        table = None if keyed is None else keyed.table(query.state)
        key = with_one_nan(query.key)
        group = key_group(key, info.max_parallelism)
        if table is None or subtask_of_group(group, info.max_parallelism, info.parallelism) != self.subtask:
            return None
        return table.content(key)

    def info_of(self, state: str) -> StateInfo | None:
        """What the function has said about a keyed state."""
        keyed = self.operator.keyed_state()
        info: StateInfo | None = None if keyed is None else keyed.infos.get(state)
        return info

    def new_states(self) -> tuple[StateInfo, ...] | None:
        """All states, if there is more to say about them than at the last call."""
        backends = (self.operator.keyed_state(), self.operator.operator_state())
        infos = tuple(info for backend in backends if backend is not None for info in backend.described())
        if infos == self._states_reported:
            return None
        self._states_reported = infos
        return infos

    @property
    def measures(self) -> Measures:
        return self.operator.context.runtime.measures

    @contextmanager
    def taking_over(self) -> Iterator[None]:
        """Errors tell whose state it is."""
        try:
            yield
        except Exception as error:
            raise self.operator.context.error(error, during=" to take over its earlier state") from error

    def _take_latencies(self) -> tuple[Latency, ...]:
        taken, self.gate.latencies = self.gate.latencies, []
        return tuple((mark.source, mark.subtask, millis) for mark, millis in taken)

    def so_far(self, times: OperatorTimes) -> OperatorSoFar:
        """What it has done of an epoch that goes on; from any thread."""
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
        """What the epoch did; takes printed and collected elements out."""
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
