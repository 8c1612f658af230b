"""Deletions in the background: all are done, a failure stops nothing, and the end has a deadline."""

from __future__ import annotations

import threading

import pytest

from millrace.runtime.coordination import checkpoints
from millrace.runtime.coordination.checkpoints import AtOnce, InBackground


@pytest.mark.parametrize("kind", [AtOnce, InBackground])
def test_everything_is_done_and_failures_are_logged(
    kind: type[AtOnce] | type[InBackground], caplog: pytest.LogCaptureFixture
) -> None:
    cleaner, done = kind(), list[int]()

    def delete(number: int) -> None:
        if number == 3:
            raise OSError("not now")
        done.append(number)

    for number in range(20):
        assert cleaner.submit(f"file {number}", lambda number=number: delete(number))
    cleaner.close()
    assert sorted(done) == [number for number in range(20) if number != 3]
    assert [record.getMessage() for record in caplog.records] == ["file 3 could not be deleted"]


def test_what_is_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "WAITING", 2)
    cleaner, go = InBackground(), threading.Event()
    taken = [cleaner.submit("slow", go.wait) for _ in range(checkpoints.THREADS + 2 + 5)]
    assert not all(taken)
    go.set()
    cleaner.close()


def test_the_end_does_not_wait_for_ever() -> None:
    cleaner, never = InBackground(), threading.Event()
    cleaner.submit("stuck", never.wait)
    cleaner.close(seconds=0.01)
    assert not never.is_set()
    never.set()


def test_threads_end() -> None:
    cleaner = InBackground()
    for _ in range(checkpoints.THREADS):
        cleaner.submit("nothing", lambda: None)
    threads = list(cleaner._threads)
    cleaner.close()
    assert not any(thread.is_alive() for thread in threads)
