"""The model that state with time to live is checked against, and what drives both.

The model keeps what was stored with its time stamps, and looks at them when it is asked; it has no cleanup.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from tests.runtime.state.copies import Machine, TaskCopy, Turns

from millrace.common.time import Duration
from millrace.datastream.state import StateDescriptor, StateTtlConfig
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.state.ttl_tables import TtlTable
from millrace.runtime.state.working import WorkingState

TTL = 10
ADDRESSES = ["a", Scoped("a", 1), Scoped("b", ("w", 2))]

Entry = tuple[int, Any]
"""(time stamp, what was stored)"""


class Clock:
    """Time as an operator would have it."""

    def __init__(self) -> None:
        self.processing = 1_000
        self.watermark = -(2**63)
        self.timestamp: int | None = None

    def state_time(self) -> StateTime:
        return StateTime(lambda: self.processing, lambda: self.watermark, lambda: self.timestamp)


class Worker(TaskCopy):
    """A copy of the task with the state under test."""

    def __init__(self, descriptor: StateDescriptor, clock: Clock, working: WorkingState) -> None:
        super().__init__(working, clock.state_time())
        self.state: Any = self.backend.get_any(descriptor)
        table = self.backend.table("state")
        assert isinstance(table, TtlTable)
        self.table = table

    def physical(self) -> dict[Any, Any]:
        """All that is in the table. The order of lists and of keys in maps counts."""
        rows = {at: self.table.row(at) for at in self.table.addresses()}
        return {at: list(row.items()) if isinstance(row, dict) else row for at, row in rows.items()}


class Driver:
    """Does the same to the state and to the model, and compares them.

    A subclass adds what is done with its kind of state, as methods named ``do_...``. A step is a number, from which
    the method and its arguments follow.
    """

    def __init__(
        self,
        update_type: StateTtlConfig.UpdateType,
        visibility: StateTtlConfig.StateVisibility,
        characteristic: StateTtlConfig.TtlTimeCharacteristic,
        cleanup: tuple[int, bool] | None,
        on_disk: bool,
    ) -> None:
        self.on_read = update_type is StateTtlConfig.UpdateType.OnReadAndWrite
        self.show_expired = visibility is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        self.event_time = characteristic is StateTtlConfig.TtlTimeCharacteristic.EventTime
        builder = StateTtlConfig.new_builder(Duration.of_millis(TTL)).set_update_type(update_type)
        builder.set_state_visibility(visibility).set_ttl_time_characteristic(characteristic)
        if self.show_expired:  # what is cleaned up, and when, would be seen
            builder.disable_cleanup_in_background()
        elif cleanup is not None:
            builder.cleanup_incrementally(*cleanup)
        self.asked = self.descriptor()
        self.asked.enable_time_to_live(builder.build())
        self.clock = Clock()
        self.job = Turns(Machine(on_disk), partial(Worker, self.asked, self.clock))
        self.worker = 0
        self.at: Any = ADDRESSES[0]
        self.model = {at: self.empty() for at in ADDRESSES}

    def run(self, steps: list[int]) -> None:
        common = sorted(name for name in dir(Driver) if name.startswith("do_"))
        own = sorted(name for name in dir(self) if name.startswith("do_") and name not in common)
        for step in steps:
            draw = Random(step)
            operation = draw.choice(common if draw.random() < 0.4 else own)
            getattr(self, operation)(draw)
            self.compare()
        self.job.close()

    # -- what a subclass says ---------------------------------------------------------------------------------------

    def descriptor(self) -> StateDescriptor:
        """The state under test, of the name "state"."""
        raise NotImplementedError

    def empty(self) -> Any:
        """What the model holds for an address without entries."""
        raise NotImplementedError

    def select(self, row: Any, counts: Callable[[Entry], bool], show: Callable[[int, Any], Any]) -> Any:
        """What the table should show of the entries that count; None for none."""
        raise NotImplementedError

    # -- time and place -----------------------------------------------------------------------------------------------

    @property
    def horizon(self) -> int:
        return self.clock.watermark if self.event_time else self.clock.processing

    @property
    def now(self) -> int:
        if not self.event_time:
            return self.clock.processing
        timestamp = self.clock.timestamp
        return self.clock.watermark if timestamp is None else max(timestamp, self.clock.watermark)

    def do_pass_time(self, draw: Random) -> None:
        by = draw.choice([1, 3, 9, 10, 11])
        self.clock.processing += by
        self.clock.watermark = max(self.clock.watermark, 0) + by

    def do_element(self, draw: Random) -> None:
        offset = draw.choice([None, -5, 0, 1, 5, 9, 10, 11, 15, 20])
        self.clock.timestamp = None if offset is None else max(self.clock.watermark, 0) + offset

    def do_move(self, draw: Random) -> None:
        self.at = draw.choice(ADDRESSES)

    def others(self, draw: Random) -> list[Any]:
        return draw.sample([at for at in ADDRESSES if at != self.at], draw.randint(1, 2))

    @property
    def state(self) -> Any:
        worker = self.job.copy
        worker.backend.at = self.at
        return worker.state

    def do_clear(self, draw: Random) -> None:
        self.state.clear()
        self.model[self.at] = self.empty()

    # -- the rules of an entry --------------------------------------------------------------------------------------

    def expired(self, entry: Entry) -> bool:
        return entry[0] + TTL <= self.now

    def over(self, entry: Entry) -> bool:
        return entry[0] + TTL <= self.horizon

    def hidden(self, entry: Entry) -> bool:
        return self.expired(entry) and not self.show_expired

    def read(self, entry: Entry | None) -> tuple[Entry | None, Any]:
        """(what becomes of the entry, what is seen)."""
        if entry is None:
            return None, None
        if self.expired(entry):
            return (None if self.over(entry) else entry), (entry[1] if self.show_expired else None)
        return (self.written(entry, entry[1]) if self.on_read else entry), entry[1]

    def written(self, old: Entry | None, value: Any) -> Entry:
        return (self.now if old is None else max(self.now, old[0]), value)

    def merged(self, one: Entry | None, other: Entry, fold: Callable[[Any, Any], Any]) -> Entry:
        if one is None:
            return other
        if self.hidden(one) or self.hidden(other):
            return max(one, other, key=lambda entry: entry[0])
        return (max(self.now, one[0], other[0]), fold(one[1], other[1]))

    # -- epochs -------------------------------------------------------------------------------------------------------

    def do_records(self, draw: Random) -> None:
        self.job.copy.backend.after_records(draw.randint(1, 4))

    def end(self, whole: bool) -> dict[Any, Any]:
        """End the epoch; what was in the table then."""
        if whole:
            self.job.copy.backend.before_full_snapshot()
        done = self.job.copy.physical()
        self.job.end_epoch(whole)
        return done

    def do_end_epoch(self, draw: Random) -> None:
        done = self.end(whole=draw.random() < 0.3)
        self.worker = 1 - self.worker
        self.job.begin_epoch(self.worker)
        assert self.job.copy.physical() == done

    def do_restart(self, draw: Random) -> None:
        done = self.end(whole=draw.random() < 0.5)
        self.job.lose_worker(self.worker)
        self.job.begin_epoch(self.worker)
        assert self.job.copy.physical() == done

    # -- what is seen from outside ------------------------------------------------------------------------------------

    def compare(self) -> None:
        table = self.job.copy.table

        def shown(at: Any, show: Callable[[int, Any], Any]) -> Any:
            row = self.model[at]
            return None if row is None else self.select(row, lambda e: self.show_expired or not self.over(e), show)

        contents = {at: shown(at, lambda stamp, value: value) for at in ADDRESSES}
        assert {at: table.content(at) for at in ADDRESSES} == contents
        assert [table.expirations(at) for at in ADDRESSES] == [
            shown(at, lambda stamp, value: stamp + TTL) for at in ADDRESSES
        ]
        assert set(table.keys()) == {
            at.key if isinstance(at, Scoped) else at for at, content in contents.items() if content is not None
        }
