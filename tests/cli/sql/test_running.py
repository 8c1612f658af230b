"""Statements on a thread of their own."""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Iterator

import pytest

from millrace.cli.sql.executor import Worker
from millrace.table.values.program_errors import problem


def test_results_and_errors_come_back() -> None:
    worker = Worker()
    assert worker.do(lambda: 5, lambda _: None) == 5
    with pytest.raises(ZeroDivisionError):
        worker.do(lambda: 1 // 0, lambda _: None)


def test_it_is_always_the_same_thread() -> None:
    worker = Worker()
    first, second = (worker.do(threading.get_ident, lambda _: None) for _ in range(2))
    assert first == second != threading.get_ident()


def test_the_place_that_errors_name_is_known() -> None:
    worker = Worker()
    error = worker.do(functools.partial(problem, "no table"), lambda _: None)
    assert str(error) == f"{worker.origin}: no table"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As in a terminal; what a shell starts in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_waits_for_the_end_and_takes_back_what_the_work_gave() -> None:
    worker = Worker()
    main = threading.main_thread().ident
    assert main is not None
    heard = threading.Event()
    taken_back: list[str] = []

    def work() -> str:
        signal.pthread_kill(main, signal.SIGINT)
        assert not heard.wait(0.2)
        return "rows"

    with pytest.raises(KeyboardInterrupt):
        worker.do(work, taken_back.append)
    heard.set()
    assert taken_back == ["rows"]
