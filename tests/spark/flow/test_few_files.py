"""Jobs in flow whose processes may open few files: many tasks need no more than few ones, and a lack is told."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import MakeEnvironment
from tests.spark.test_flow import FLOW
from tests.spark.test_residents import all_counts, counted

from millrace.datastream import MapFunction
from millrace.runtime.failure import JobFailedError


class Limited(MapFunction):
    """Lets its process open so many files at most; 0: no further one, once the first value has come."""

    def __init__(self, most: int) -> None:
        self._most = most

    def open(self, runtime_context: Any) -> None:
        if self._most:
            self._limit(self._most)

    def map(self, value: Any) -> Any:
        if not self._most:
            self._most = max(map(int, os.listdir("/proc/self/fd")))
            self._limit(self._most)
            with contextlib.suppress(OSError):
                while True:
                    os.dup(0)
        return value

    @staticmethod
    def _limit(most: int) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def checkpoints(folder: Path) -> dict[str, Any]:
    return {"execution.checkpointing.dir": folder / "checkpoints", "execution.checkpointing.interval": "200 ms"}


@pytest.mark.timeout(280)
def test_two_hundred_tasks_need_few_files(environment: MakeEnvironment, tmp_path: Path) -> None:
    env = environment(100, **FLOW, **checkpoints(tmp_path))
    assert sorted(counted(env, Limited(256)).execute_and_collect()) == all_counts()


@pytest.mark.timeout(120)
def test_a_process_without_files_says_what_to_raise(environment: MakeEnvironment, tmp_path: Path) -> None:
    env = environment(2, **FLOW, **checkpoints(tmp_path), **{"restart-strategy.type": "none"})
    with pytest.raises(JobFailedError, match="raise ulimit -n"):
        list(counted(env, Limited(0)).execute_and_collect())
