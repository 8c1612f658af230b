"""What CI does with tests that fail at first: three may."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.reruns import MOST, Reruns


def session() -> Any:
    return SimpleNamespace(exitstatus=pytest.ExitCode.OK)


@pytest.mark.parametrize("failures", [0, MOST, MOST + 1])
def test_three_tests_may_fail_at_first(failures: int) -> None:
    reruns, finished = Reruns(), session()
    for number in range(failures):
        reruns.pytest_runtest_logreport(SimpleNamespace(outcome="rerun", nodeid=f"t{number}", longreprtext=""))  # type: ignore[arg-type]
        reruns.pytest_runtest_logreport(SimpleNamespace(outcome="passed", nodeid=f"t{number}"))  # type: ignore[arg-type]
    reruns.pytest_sessionfinish(finished)
    passes = pytest.ExitCode.OK if failures <= MOST else pytest.ExitCode.TESTS_FAILED
    assert finished.exitstatus == passes
