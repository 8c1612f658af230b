"""Pipelines that run without Spark: to their end, or for as long as a test wants, with failures in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from millrace.cdc.composer import build, compose
from millrace.cdc.pipeline_file import parse_pipeline
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.tasks.worker import TaskCache
from millrace.testing.local import LocalEngine, LocalRun, run_locally

DEADLINE_SECONDS = 60


def program(text: str) -> StreamExecutionEnvironment:
    return build(compose(parse_pipeline(text)), StreamExecutionEnvironment())


def run(text: str, **how: Any) -> LocalRun:
    """A pipeline with an end."""
    return run_locally(program(text), **how)


class Running:
    """A pipeline, epoch by epoch. :param epoch_records: about so many elements are read in each."""

    def __init__(self, text: str, epoch_records: int | None = None) -> None:
        job = program(text).job_graph()
        if epoch_records is not None:
            job = replace(job, epoch_records=epoch_records)
        self._engine = LocalEngine(job, lambda: int(time.time() * 1000))
        self._fails = 0

    def epoch(self) -> None:
        coordinator = self._engine.coordinator
        plan = coordinator.plan()
        acks = self._engine.run_tasks(plan)
        if self._fails:
            self._fails -= 1
            self.lose()
            coordinator.abort(acks)
            coordinator.restart()
        else:
            coordinator.complete(plan, acks)

    @property
    def ended(self) -> bool:
        return self._engine.coordinator.finished

    def fail(self, epochs: int = 1) -> None:
        """Let the next epochs fail when all their tasks are through: sinks have written, and nothing is recorded."""
        self._fails = epochs

    def lose(self) -> None:
        """All processes with tasks are gone."""
        self._engine._workers = [TaskCache()]

    def until(self, holds: Callable[[], Any], what: str = "") -> None:
        """Go on until something holds."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not holds() or self._fails:
            assert time.monotonic() < deadline, f"waited for {DEADLINE_SECONDS} s: {what}"
            self.epoch()
            time.sleep(0.01)

    def close(self) -> None:
        for cache in self._engine._workers:
            cache.close()
        self._engine.coordinator.close()


@contextmanager
def running(text: str) -> Iterator[Running]:
    job = Running(text)
    try:
        yield job
    finally:
        job.close()
