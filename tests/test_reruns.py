"""What CI does with tests that fail at first: three may, and asking for it costs no time."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest
from tests.reruns import MOST, Reruns


def session(**config: Any) -> Any:
    return SimpleNamespace(config=SimpleNamespace(**config), exitstatus=pytest.ExitCode.OK)


@pytest.mark.parametrize("failures", [0, MOST, MOST + 1])
def test_three_tests_may_fail_at_first(failures: int) -> None:
    reruns, finished = Reruns(), session()
    for number in range(failures):
        reruns.pytest_runtest_logreport(SimpleNamespace(outcome="rerun", nodeid=f"t{number}", longreprtext=""))  # type: ignore[arg-type]
        reruns.pytest_runtest_logreport(SimpleNamespace(outcome="passed", nodeid=f"t{number}"))  # type: ignore[arg-type]
    reruns.pytest_sessionfinish(finished)
    passes = pytest.ExitCode.OK if failures <= MOST else pytest.ExitCode.TESTS_FAILED
    assert finished.exitstatus == passes


def test_messages_to_the_main_process_do_not_wait_for_each_other() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        Reruns().pytest_sessionstart(session(failures_db=SimpleNamespace(sock=connection)))
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_without_other_processes_there_is_no_connection() -> None:
    Reruns().pytest_sessionstart(session())
    Reruns().pytest_sessionstart(session(failures_db=object()))
