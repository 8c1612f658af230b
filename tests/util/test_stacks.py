"""Stacks of the threads of this process, at one moment and over a while."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from millrace.util.tracebacks import Sample, Thread, place_in, processor_ns, sample, stack, stacks


def waits(until: threading.Event) -> None:
    until.wait()


def works(until: threading.Event) -> None:
    while not until.is_set():
        sum(range(1000))


@contextmanager
def running(function: Callable[[threading.Event], None], label: str) -> Iterator[dict[int, Thread[str]]]:
    end = threading.Event()
    thread = threading.Thread(target=function, args=(end,), name=f"it {function.__name__}")
    thread.start()
    assert thread.ident is not None
    assert thread.native_id is not None
    while not _is_in(function, sys._current_frames()[thread.ident]):
        time.sleep(0.001)  # it has begun, and is not there yet
    try:
        yield {thread.ident: Thread(label, thread.native_id)}
    finally:
        end.set()
        thread.join()


def _is_in(function: Callable[[threading.Event], None], frame: FrameType | None) -> bool:
    """Whether a thread is in a function, and waits there if that is what it does."""
    waiting = function is works
    while frame is not None and frame.f_code is not function.__code__:
        waiting = waiting or frame.f_code is threading.Condition.wait.__code__
        frame = frame.f_back
    return frame is not None and waiting


def test_all_threads_with_their_stacks() -> None:
    with running(waits, "a"):
        found = {stack.name: stack.text for stack in stacks()}
    lines = found["it waits"].splitlines()
    assert lines[0].startswith('"it waits" Id=')
    assert any(".waits:" in line for line in lines)
    # The last call first.
    assert "wait" in lines[1]
    assert "_bootstrap" in lines[-1]
    assert "test_all_threads" in found[threading.current_thread().name]


def test_a_thread_that_works_and_one_that_waits() -> None:
    with running(works, "works") as busy, running(waits, "waits") as quiet:
        found = sample(lambda: busy | quiet, 0.5, 50, lambda module: module == "threading")
    seen: dict[str, list[Sample[str]]] = {"works": [], "waits": []}
    for each in found:
        seen[each.label].append(each)
    assert all(".works:" in each.frames[0] for each in seen["works"])
    assert all(".waits:" in each.frames[0] for each in seen["waits"])
    if processor_ns(threading.get_native_id()) >= 0:
        assert any(each.on_cpu for each in seen["works"])
        assert sum(found[each] for each in seen["waits"] if not each.on_cpu) > 0
        assert not any(each.on_cpu for each in seen["waits"])


def test_threads_that_have_ended_are_not_looked_for() -> None:
    with running(waits, "a") as over:
        pass
    began = time.monotonic()
    assert not sample(lambda: over, 0.05, 100, lambda module: False)
    assert time.monotonic() - began >= 0.05


def test_a_loop_over_elements_shows_how_far_it_is() -> None:
    """The thread waits in the same call all the time; only the element that it waits for is another one."""
    turn, reached = threading.Semaphore(0), threading.Semaphore(0)

    def loop() -> None:
        remaining = iter([1, 2, 3])
        for _ in remaining:
            reached.release()
            turn.acquire()

    thread = threading.Thread(target=loop)
    thread.start()
    assert thread.ident is not None
    places = []
    for _ in range(3):
        reached.acquire()
        found = {place_in(thread.ident, lambda module: module == __name__) for _ in range(5)}
        places.append(found)
        turn.release()
    thread.join()
    # Of a moment the same number each time, of each moment another one.
    assert [len(found) for found in places] == [1, 1, 1]
    assert len(set.union(*places)) == 3
    assert place_in(thread.ident, lambda module: True) == 0
    assert stack(thread.ident) == ""
