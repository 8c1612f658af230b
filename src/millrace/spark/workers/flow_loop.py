"""The loop of an owner: one thread turns its tasks and reads its connections, as long as no step of a task takes long.

A record then passes from the connection through the tasks of an owner without a change of threads. A step that takes
long would hold up the other tasks and the connections, so a second thread looks every 20 to 50 ms whether the same step
still runs. If it does, and waits for something, the task keeps the thread that it is on, and the loop goes on with a
new one. A task that waits in many short steps, as one that calls a service for each record, gets a thread of its own,
too. It returns to the loop at the end of an epoch in which no step of it was slow.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable
from io import FileIO
from time import perf_counter_ns, thread_time_ns
from typing import Protocol

from millrace.util.threads import JobThread

LOOK_SECONDS = 0.02
"""Seconds between two looks at the running step; one that is seen twice, and waits for something, is slow."""
IDLE_LOOK_SECONDS = 0.05
"""Seconds until the next look where no step ran."""
QUIET_LOOKS = 2
"""Looks without any step, after which there are no more until the next step."""
LOOKS = 5
"""Looks after which also a step that only computes, or waits for a processor, is slow."""
SHORT_NANOSECONDS = 1_000_000
"""It is not asked whether steps up to this length have waited (ns)."""
WAITED_NANOSECONDS = 50_000_000
"""A task that has waited longer than this within ``SPAN_NANOSECONDS``, in all of its steps, is slow (ns)."""
SPAN_NANOSECONDS = 1_000_000_000
READ_NANOSECONDS = 500_000
"""While tasks have work, connections are read at least this often, between two steps (ns)."""
FRESH_NANOSECONDS = 20_000_000
"""So long what is known of a thread's waiting for a processor is good enough for the beginning of a step (ns)."""
AT_ONCE = 0
"""A due time that is always over."""
_DELAYS = "/proc/thread-self/schedstat"
"""of the calling thread; the second number is how long it has waited for a processor (ns)"""


class Pace:
    """Whether the steps of one task are slow: whether they wait for something other than a processor."""

    def __init__(self) -> None:
        self.is_slow = False
        """whether a step, or the steps together, have waited for long since ``start``"""
        self.is_measured = False
        """whether it is measured how long the next step waits: a step has taken long in the last second"""
        self._since = 0
        self._waited = 0

    def start(self) -> None:
        """Forget earlier steps."""
        self.is_slow = False
        self._waited = 0

    def took(self, began: int, ended: int, waited: int) -> None:
        """Note a step.

        :param began: start of the step (ns); ``ended`` is its end by the same clock.
        :param waited: how long it has waited for something other than a processor (ns); 0 if that was not measured.
        """
        is_long = ended - began > SHORT_NANOSECONDS
        if is_long or ended - self._since > SPAN_NANOSECONDS:
            self.is_measured = is_long
        if ended - self._since > SPAN_NANOSECONDS:
            self._since, self._waited = ended, 0
        if is_long:
            self._waited += waited
            self.is_slow = self.is_slow or self._waited > WAITED_NANOSECONDS


class LoopTask(Protocol):
    """A task that the loop turns."""

    pace: Pace
    is_alone: bool
    """whether it runs on a thread of its own"""
    is_ready: bool
    """whether it waits for its turn in the loop"""
    due: int | None
    """when it has its next turn even if nothing comes (ns); None: never"""
    alarm: int | None
    """the earliest time for which the loop has noted it (ns)"""

    def turn(self) -> int | None:
        """Do one step. Returns the new ``due``. Never raises."""

    def leave(self) -> None:
        """Go on with a new thread."""

    def stay(self, thread: threading.Thread) -> None:
        """Go on with this thread, which is in a turn of the task."""

    def go_on(self) -> None:
        """Run on the calling thread until the task is stopped or returns to the loop."""


def take_turn(task: LoopTask, delays: Delays) -> None:
    """Turn a task on this thread, and note its pace.

    :param delays: of this thread.
    """
    pace, is_measured = task.pace, task.pace.is_measured
    began = perf_counter_ns()
    busy = delays.before(began) if is_measured else 0
    task.due = task.turn()
    ended = perf_counter_ns()
    if ended - began > SHORT_NANOSECONDS:
        pace.took(began, ended, max(0, ended - began - (delays.after(ended) - busy)) if is_measured else 0)
    elif is_measured:
        pace.took(began, ended, 0)


class Delays:
    """How long a thread has waited for a processor, where the system tells. Used by that thread only."""

    def __init__(self) -> None:
        self._known, self._at = 0, 0

    def before(self, now: int) -> int:
        """``after``, as it was a moment ago: a step begins.

        :param now: the time (ns).
        """
        if now - self._at > FRESH_NANOSECONDS:
            self._known, self._at = self._read(), now
        return thread_time_ns() + self._known

    def after(self, now: int) -> int:
        """How long the thread has had a processor, or has waited for one (ns)."""
        self._known, self._at = self._read(), now
        return thread_time_ns() + self._known

    def _read(self) -> int:
        with contextlib.suppress(OSError), open(_DELAYS, "rb", buffering=0) as file:
            return _delay(file)
        return 0


class LoopDelays(Delays):
    """``Delays`` of a loop, whose file stays open: to open it takes ten times as long as to read it."""

    def __init__(self) -> None:
        super().__init__()
        self._file: FileIO | None = None
        with contextlib.suppress(OSError):
            self._file = open(_DELAYS, "rb", buffering=0)  # noqa: SIM115

    def _read(self) -> int:
        return 0 if self._file is None else _delay(self._file)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _delay(file: FileIO) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(os.pread(file.fileno(), 128, 0).split()[1])
    return 0


def _waits(thread: threading.Thread) -> bool:
    """Whether a thread waits for something other than a processor, as far as the system tells."""
    try:
        with open(f"/proc/self/task/{thread.native_id}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"R"
    except (OSError, IndexError):
        return True


class FlowLoop:
    """Turns tasks and reads connections.

    :param left: returns the seconds until ``look`` is due; None: it is not.
    :param look: is called between steps, in the thread of the loop; an error ends the loop.
    """

    def __init__(self, left: Callable[[], float | None], look: Callable[[], None]) -> None:
        self.selector = selectors.DefaultSelector()
        """files to read -> a function without arguments, which is called in the thread of the loop"""
        self._left = left
        self._look = look
        self._ready: deque[LoopTask] = deque()
        self._alarms: list[tuple[int, int, LoopTask]] = []
        """(time in ns, number, task): the task may have something to do at that time"""
        self._numbers = itertools.count()
        self._is_asleep = False
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        self.selector.register(self._woken, selectors.EVENT_READ, self._drain)
        self._lock = threading.Lock()
        self._turning: LoopTask | None = None
        """the task whose step runs; None: none, or its thread is no longer that of the loop"""
        self._thread: threading.Thread | None = None
        """the thread of the loop"""
        self._turns = 0
        """number of turns so far"""
        self._rests = False
        """whether there are no looks at the running step before the next one begins"""
        self._active = threading.Event()
        self._error: BaseException | None = None
        self._ended = threading.Event()

    # -- from other threads ----------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until the end, on threads of the loop. Raises the error that has ended it."""
        self._begin()
        JobThread(target=self._watch, name="millrace-watch", daemon=True).start()
        self._ended.wait()
        self._active.set()
        if self._error is not None:
            raise self._error

    def wake(self, task: LoopTask) -> None:
        """Give a task a turn soon."""
        if not task.is_ready:
            task.is_ready = True
            self._ready.append(task)
        if self._is_asleep:
            self._is_asleep = False
            with contextlib.suppress(OSError):  # it is full of such bytes
                os.write(self._waker, b"\0")

    def close(self) -> None:
        """Release the files of the loop, after its end."""
        self.selector.close()
        os.close(self._woken)
        os.close(self._waker)

    # -- the thread of the loop ------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._thread = JobThread(target=self._run, name="millrace-loop", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._go_round().go_on()
        except BaseException as error:
            self._error = error
            self._is_asleep = False
            self._ended.set()

    def _go_round(self) -> LoopTask:
        """Read connections and turn tasks, until a task keeps this thread; returns that task."""
        delays = LoopDelays()
        try:
            while True:
                self._read()
                kept = self._turn_all(delays)
                if kept is not None:
                    return kept
        finally:
            delays.close()

    def _read(self) -> None:
        """Wait for connections, calls of other threads and due times, and read what has come."""
        self._is_asleep = True
        seconds = 0.0 if self._ready else self._rest()
        for key, _ in self.selector.select(seconds):
            key.data()
        self._is_asleep = False
        self._look()
        self._ring(perf_counter_ns())

    def _rest(self) -> float | None:
        seconds = self._left()
        if self._alarms:
            alarm = max(0.0, (self._alarms[0][0] - perf_counter_ns()) / 1e9)
            seconds = alarm if seconds is None else min(seconds, alarm)
        return seconds

    def _drain(self) -> None:
        os.read(self._woken, 4096)

    def _ring(self, now: int) -> None:
        """Give a turn to the tasks whose time has come."""
        while self._alarms and self._alarms[0][0] <= now:
            _, _, task = heapq.heappop(self._alarms)
            task.alarm = None
            if task.is_alone or task.is_ready or task.due is None:
                continue
            if task.due <= now:
                task.is_ready = True
                self._ready.append(task)
            else:
                self._set_alarm(task)

    def _set_alarm(self, task: LoopTask) -> None:
        if task.due is not None and (task.alarm is None or task.due < task.alarm):
            task.alarm = task.due
            heapq.heappush(self._alarms, (task.due, next(self._numbers), task))

    def _turn_all(self, delays: Delays) -> LoopTask | None:
        """Turn the tasks that are ready, one after the other; returns one that keeps this thread, if any."""
        until = perf_counter_ns() + READ_NANOSECONDS
        while self._ready:
            task = self._ready.popleft()
            task.is_ready = False
            if task.is_alone:
                continue
            if not self._turn(task, delays):
                return task
            if perf_counter_ns() > until:
                break
        return None

    def _turn(self, task: LoopTask, delays: Delays) -> bool:
        """Turn a task; returns whether this is still the thread of the loop."""
        self._turns += 1
        self._turning = task
        if self._rests:
            self._rests = False
            self._active.set()
        take_turn(task, delays)
        with self._lock:
            if self._turning is not task:
                return False
            self._turning = None
        if task.pace.is_slow:
            task.leave()
        elif task.due == AT_ONCE:
            if not task.is_ready:
                task.is_ready = True
                self._ready.append(task)
        else:
            self._set_alarm(task)
        return True

    # -- the thread that looks at the running step -----------------------------------------------------------------

    def _watch(self) -> None:
        seen, looks, quiet, is_turning = -1, 0, 0, False
        while not self._ended.is_set():
            time.sleep(LOOK_SECONDS if is_turning else IDLE_LOOK_SECONDS)
            turns, is_turning = self._turns, self._turning is not None
            looks = looks + 1 if is_turning and turns == seen else 0
            if looks:
                self._judge(turns, looks >= LOOKS)
            quiet = 0 if is_turning or turns != seen else quiet + 1
            seen = turns
            if quiet >= QUIET_LOOKS:
                quiet = 0
                self._pause(turns)

    def _pause(self, turns: int) -> None:
        """Wait for the next turn."""
        self._active.clear()
        self._rests = True
        if self._turning is not None or self._turns != turns or self._ended.is_set():
            self._rests = False
            return
        self._active.wait()

    def _judge(self, turns: int, is_long: bool) -> None:
        """Leave the thread of the loop to the task whose step still runs, and go on with a new thread.

        :param turns: number of the turn.
        :param is_long: whether this holds also for a step that only computes.
        """
        with self._lock:
            task, thread = self._turning, self._thread
            if task is None or thread is None or self._turns != turns or not (is_long or _waits(thread)):
                return
            self._turning = None
            task.stay(thread)
        self._begin()
