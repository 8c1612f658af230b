"""Documents of jobs for tests, built from the few numbers that a test is about."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from millrace.cluster.documents import (
    InputDocument,
    JobDocument,
    MetricDocument,
    OperatorDocument,
    SubtaskDocument,
    VertexDocument,
)

NOW = 1_700_000_000_000
STATES = ("INITIALIZING", "CREATED", "RUNNING", "FAILING", "FAILED", "CANCELLING", "CANCELED", "FINISHED", "RESTARTING")


def id_of(name: str) -> str:
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


def metrics(**values: float | str | None) -> tuple[MetricDocument, ...]:
    """``Map__numRecordsIn=3`` is ``Map.numRecordsIn``."""
    return tuple(MetricDocument(name.replace("__", "."), value) for name, value in values.items())


def subtask(index: int = 0, **values: Any) -> SubtaskDocument:
    state = values.pop("state", "RUNNING")
    return SubtaskDocument(
        index=index,
        state=state,
        attempt=values.pop("attempt", 0),
        host=values.pop("host", "localhost"),
        task_manager=values.pop("task_manager", f"executor-{index % 2}"),
        states=values.pop("states", {"CREATED": NOW - 3_600_000, state: NOW - 3_500_000}),
        started=values.pop("started", NOW - 3_600_000),
        **values,
    )


def vertex(
    name: str,
    subtasks: Sequence[Mapping[str, Any]] = ({},),
    after: Sequence[str] = (),
    ship: str = "HASH",
    descriptions: Mapping[str, str] | None = None,
    **values: Any,
) -> VertexDocument:
    """A vertex whose name is that of its chain, behind the vertices of these names."""
    described = descriptions or {}
    return VertexDocument(
        id=id_of(name),
        name=name,
        parallelism=len(subtasks),
        max_parallelism=128,
        slot_sharing_group=id_of("default"),
        operators=tuple(
            OperatorDocument(f"uid-{each}", each, f"job.py:{number * 3 + 10}", described.get(each, ""))
            for number, each in enumerate(name.split(" -> "))
        ),
        inputs=tuple(InputDocument(id_of(each), ship, number) for number, each in enumerate(after)),
        subtasks=tuple(subtask(index, **each) for index, each in enumerate(subtasks)),
        **values,
    )


def job(*vertices: VertexDocument, **values: Any) -> JobDocument:
    name = values.pop("name", "orders")
    state = values.pop("state", "RUNNING")
    written = values.pop("written", NOW)
    started = values.pop("started", written - 3_600_000)
    return JobDocument(
        id=values.pop("id", id_of(name)),
        name=name,
        state=state,
        batch=values.pop("batch", False),
        parallelism=values.pop("parallelism", max((each.parallelism for each in vertices), default=1)),
        max_parallelism=128,
        started=started,
        ended=values.pop("ended", -1),
        written=written,
        timestamps=dict.fromkeys(STATES, 0) | values.pop("timestamps", {"CREATED": started, "RUNNING": started + 500}),
        vertices=vertices,
        **values,
    )
