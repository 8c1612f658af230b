"""Runs tests in several processes, the lanes, that are forks of the one that has collected them.

``pytest --lanes="spark unit, spark unit, services unit"`` starts three lanes. A lane runs the files of the first group
that it names as long as there are some, then those of the next one. A test is of the group ``spark`` or ``services`` by
its marker, of ``spark`` if it has both (servers start faster than another Spark), else of ``unit``. A file's tests of
one group run in one lane, files that take long begin first (``tests/durations.json``). Session fixtures, so a Spark
session or a server, exist once a lane.

All tests are collected once, and lanes share what that has read: with pytest-xdist each worker collects for itself.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import multiprocessing
import os
import random
import signal
import sys
import time
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal

import psutil
import pytest
from _pytest.capture import CaptureManager
from _pytest.terminal import TerminalReporter
from tests.census import SECONDS, Census

Group = Literal["services", "spark", "unit"]
GROUPS: tuple[Group, ...] = ("spark", "services", "unit")
DURATIONS = Path(__file__).parent / "durations.json"
LANE = "MILLRACE_LANE"
"""environment variable: the name of the lane in which a process has been started"""
_FORK = multiprocessing.get_context("fork")


def add_options(parser: pytest.Parser) -> None:
    own = parser.getgroup("lanes")
    own.addoption("--lanes", metavar="GROUPS,GROUPS", help="processes to run tests in, and what each of them takes")
    own.addoption("--lanes-report", metavar="FILE", help="where processor seconds of each file are written, as JSON")


def group_of(item: pytest.Item) -> Group:
    return next((name for name in GROUPS if item.get_closest_marker(name)), "unit")


def lanes_of(text: str) -> list[tuple[Group, ...]]:
    """The groups of each lane; ``unit*`` is as many more lanes as there are processors without one.

    :raises UsageError: there is no group of such a name.
    """
    known: dict[str, Group] = {name: name for name in GROUPS}
    try:
        found = [tuple(known[name] for name in lane.rstrip("* ").split() or [""]) for lane in text.split(",")]
    except KeyError as error:
        raise pytest.UsageError(f"--lanes {text!r}: {error} is not among {', '.join(sorted(GROUPS))}") from None
    if text.endswith("*"):
        found += [found.pop()] * ((os.cpu_count() or 1) - len(found))
    return found


@dataclass(frozen=True, eq=False)
class Batch:
    """A file's tests of one group."""

    file: str
    group: Group
    tests: list[int]
    """positions in the session's items"""


def batches(items: Sequence[pytest.Item], durations: dict[str, dict[str, float]]) -> dict[Group, deque[Batch]]:
    """What each group has to run, what takes longest first.

    :param durations: group -> file -> processor seconds.
    """
    found: dict[tuple[Group, str], Batch] = {}
    for position, item in enumerate(items):
        group, file = group_of(item), item.nodeid.partition("::")[0]
        found.setdefault((group, file), Batch(file, group, [])).tests.append(position)
    ordered = sorted(
        found.values(), key=lambda batch: -durations.get(batch.group, {}).get(batch.file, 0.005 * len(batch.tests))
    )
    return {group: deque(batch for batch in ordered if batch.group == group) for group in GROUPS}


@dataclass
class Times:
    """What a group has taken."""

    tests: int = 0
    processor_s: float = 0.0
    elapsed_s: float = 0.0


@dataclass(eq=False)
class _Lane:
    """A process and what it has been given and not run yet."""

    name: str
    groups: tuple[Group, ...]
    process: Any = None
    connection: Any = None
    given: deque[Batch] = field(default_factory=deque)
    running: int | None = None
    """position of the test that runs"""
    has_last: bool = False
    """whether nothing follows what it has been given"""
    before_s: float = 0.0
    """processor seconds of the processes that it has started, before the batch that runs"""

    @property
    def id(self) -> str:
        return self.name

    @property
    def workerinfo(self) -> dict[str, Any]:
        """What pytest names above a failure."""
        return {"id": self.name, "sysplatform": sys.platform, "version_info": sys.version_info, "executable": "a fork"}

    @property
    def gateway(self) -> _Lane:
        """What pytest names in front of a test with ``-v``."""
        return self


class Lanes:
    """The plugin of the process that has collected: hands out batches, reports what lanes report."""

    def __init__(self, config: pytest.Config, in_lane: Callable[[], None]) -> None:
        """:param in_lane: called first in each lane, for what processes must not share."""
        self._config = config
        self._in_lane = in_lane
        self._lanes = [
            _Lane(f"{number} {groups[0]}", groups) for number, groups in enumerate(lanes_of(config.option.lanes), 1)
        ]
        self._waiting: dict[Group, deque[Batch]] = {}
        self._by_group: defaultdict[Group, Times] = defaultdict(Times)
        self._by_file: dict[str, dict[str, float]] = {group: {} for group in GROUPS}
        self._collected_s = 0.0
        self._census = Census(LANE)
        self._begun = time.monotonic()
        self._begun_idle_s = _idle_s()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.config.option.collectonly or session.testsfailed:
            return None  # pytest says so
        self._collected_s = time.process_time()
        durations = json.loads(DURATIONS.read_text())
        self._waiting = batches(session.items, durations)
        gc.collect()
        gc.freeze()  # collections of lanes neither visit nor copy what is shared
        try:
            for lane in self._lanes:
                self._start(lane, session)
            for lane in self._lanes:
                self._give(lane)
            while working := {lane.connection: lane for lane in self._lanes if lane.process is not None}:
                for connection in wait(list(working), timeout=SECONDS):
                    self._listen(working[connection], session)
                self._census.look()
                for lane in working.values():
                    if lane.process is not None and not lane.process.is_alive() and not lane.connection.poll():
                        self._ended(lane, session)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        finally:
            self._stop()
        return True

    def _start(self, lane: _Lane, session: pytest.Session) -> None:
        ours, of_lane = _FORK.Pipe()
        lane.connection, lane.running, lane.has_last = ours, None, False
        arguments = (lane.name, session, of_lane, ours, self._in_lane)
        lane.process = _FORK.Process(target=_run_lane, args=arguments, name=lane.name)
        lane.process.start()
        of_lane.close()
        self._give(lane)

    def _give(self, lane: _Lane) -> None:
        """Give a lane one more batch, None if there is none left for it."""
        if lane.has_last:
            return
        queue = next((self._waiting[group] for group in lane.groups if self._waiting[group]), None)
        batch = queue.popleft() if queue else None
        if batch is not None:
            lane.given.append(batch)
        lane.has_last = batch is None
        with contextlib.suppress(OSError):  # the process has ended: _ended is called next
            lane.connection.send(None if batch is None else batch.tests)

    def _listen(self, lane: _Lane, session: pytest.Session) -> None:
        """Take one message of a lane: a test begins, a report, or a batch that is done, with its times."""
        try:
            kind, value = lane.connection.recv()
        except (EOFError, OSError):
            self._ended(lane, session)
            return
        if kind == "begins":
            lane.running = value
        elif kind == "report":
            report = self._config.hook.pytest_report_from_serializable(config=self._config, data=value)
            report.node = lane
            self._config.hook.pytest_runtest_logreport(report=report)
        else:
            lane.running = None
            batch, (own_s, waited_for_s, elapsed_s) = lane.given.popleft(), value
            started_s = self._census.of(lane.name)
            processor_s = max(waited_for_s, own_s + started_s - lane.before_s)
            lane.before_s = started_s
            times = self._by_group[batch.group]
            times.tests += len(batch.tests)
            times.processor_s += processor_s
            times.elapsed_s += elapsed_s
            self._by_file[batch.group][batch.file] = round(processor_s, 2)
            self._give(lane)

    def _ended(self, lane: _Lane, session: pytest.Session) -> None:
        """After the end of a lane's process: it was done, or the test that ran fails and another one takes the rest."""
        lane.process.join()
        code, lane.process = lane.process.exitcode, None
        if not lane.given:
            return
        if lane.running is None:
            raise RuntimeError(f"the process of lane {lane.name} ended with {code} outside of tests")
        batch = lane.given[0]
        failed = batch.tests.index(lane.running)
        item = session.items[lane.running]
        text = f"the process of lane {lane.name} ended with {code} in this test"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        report.node = lane  # type: ignore[attr-defined]
        self._config.hook.pytest_runtest_logreport(report=report)
        left = Batch(batch.file, batch.group, batch.tests[failed + 1 :])
        for each in reversed([left, *list(lane.given)[1:]]):
            if each.tests:
                self._waiting[each.group].appendleft(each)
        lane.given.clear()
        self._start(lane, session)
        self._give(lane)

    def _stop(self) -> None:
        """End what still runs as Ctrl-C would, so that servers of fixtures end, too."""
        left = [lane.process for lane in self._lanes if lane.process is not None]
        for process in left:
            if process.is_alive():
                os.kill(process.pid, signal.SIGINT)
        for process in left:
            process.join(60)
            process.kill()

    def pytest_sessionfinish(self) -> None:
        if path := self._config.option.lanes_report:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(json.dumps(self._by_file, indent=1, sort_keys=True) + "\n")

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        terminalreporter.write_line(f"collected in {self._collected_s:.0f} s of processor time")
        for group, times in sorted(self._by_group.items()):
            terminalreporter.write_line(
                f"{group}: {times.tests} tests, {times.processor_s:.0f} s of processor time, {times.elapsed_s:.0f} s"
            )
        whole_s = (time.monotonic() - self._begun) * (os.cpu_count() or 1)
        busy_s = whole_s - (_idle_s() - self._begun_idle_s)
        terminalreporter.write_line(
            f"processors of this machine: {busy_s:.0f} s busy of {whole_s:.0f}, {busy_s / whole_s:.0%}"
        )


class _Reporter:
    """What a lane has in place of pytest's reporter of that name, which would write beside that of the main process."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._tw = config.get_terminal_writer()  # pytest-timeout writes stacks there
        self.stats: dict[str, list[Any]] = {}
        self._config = config
        self._connection = connection

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._connection.send(("report", data))


def _run_lane(
    name: str, session: pytest.Session, connection: Connection, of_parent: Connection, in_lane: Callable[[], None]
) -> None:
    """Run what comes through the connection, in a fork."""
    of_parent.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    os.environ[LANE] = name
    # What modules have registered is for the main process: that of Polars would wait for a thread that forks have not.
    atexit._clear()
    atexit.register(weakref.finalize._exitfunc)  # type: ignore[attr-defined]  # folders of tests that are left
    in_lane()
    config = session.config
    reporter = _Reporter(config, connection)
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(reporter, "terminalreporter")
    capture: CaptureManager | None = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:  # its files would be those of all lanes
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
    try:
        _run_batches(session, connection)
    except KeyboardInterrupt:
        pass  # the main process says why
    finally:
        session._setupstate.teardown_exact(None)
        atexit._run_exitfuncs()


def _run_batches(session: pytest.Session, connection: Connection) -> None:
    batch: list[int] | None = connection.recv()
    while batch is not None:
        following: list[int] | None = connection.recv()
        own_s, processor_s, begun = time.process_time(), _processor_s(), time.monotonic()
        for position, upcoming in zip(batch, [*batch[1:], following[0] if following else None], strict=True):
            connection.send(("begins", position))
            item = session.items[position]
            after = None if upcoming is None else session.items[upcoming]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        used_s = max(_processor_s() - processor_s, 0.0)  # a process that has ended unwaited for is in the first only
        connection.send(("done", (time.process_time() - own_s, used_s, time.monotonic() - begun)))
        batch = following


def _idle_s() -> float:
    """Seconds that all processors of the machine have had nothing to run, since it started."""
    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0.0))


def _processor_s() -> float:
    """Seconds of processor time that this process has used with its children, those that run and those of them, too."""
    return sum(os.times()[:4]) + sum(map(_used_s, psutil.Process().children(recursive=True)))


def _used_s(process: psutil.Process) -> float:
    try:
        return sum(process.cpu_times()[:4])
    except psutil.Error:
        return 0.0  # it has ended
