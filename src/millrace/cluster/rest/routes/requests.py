"""Bodies of requests, with Flink's names. Fields that are not known are ignored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-fA-F]{32}$")]
Format = Literal["CANONICAL", "NATIVE"]
Mode = Literal["CLAIM", "NO_CLAIM", "LEGACY"]


_KEBAB = {"target_directory": "target-directory", "cancel": "cancel-job"}


class SavepointTriggerRequestBody(msgspec.Struct, rename=_KEBAB):
    """Take a savepoint."""

    target_directory: str | None = None
    cancel: bool | None = None
    formatType: Format | None = None
    triggerId: Id | None = None


class StopWithSavepointRequestBody(msgspec.Struct):
    """Take a savepoint and end the job."""

    targetDirectory: str | None = None
    drain: bool | None = None
    formatType: Format | None = None
    triggerId: Id | None = None


class CheckpointTriggerRequestBody(msgspec.Struct):
    """Take a checkpoint."""

    checkpointType: Literal["CONFIGURED", "FULL", "INCREMENTAL"] | None = None
    triggerId: Id | None = None


class SavepointDisposalRequest(msgspec.Struct, rename={"path": "savepoint-path"}):
    """Delete a savepoint."""

    path: str | None = None


class JobClientHeartbeatRequestBody(msgspec.Struct):
    """A client that is still there."""

    expiredTimestamp: int


class Parallelism(msgspec.Struct):
    """Bounds of a parallelism."""

    lowerBound: int = 1
    upperBound: int = -1


class JobVertexResourceRequirements(msgspec.Struct):
    """What a vertex needs."""

    parallelism: Parallelism


class JobPlanRequestBody(msgspec.Struct):
    """How a program is to be run, as far as its plan depends on that."""

    entryClass: str | None = None
    programArgsList: list[str] | None = None
    parallelism: int | None = None
    jobId: Id | None = None
    flinkConfiguration: dict[str, str] | None = None


class JarPlanRequestBody(JobPlanRequestBody):
    """Show the plan of a program."""


class JarRunRequestBody(JobPlanRequestBody):
    """Run a program."""

    allowNonRestoredState: bool | None = None
    savepointPath: str | None = None
    claimMode: Mode | None = None
    restoreMode: Mode | None = None


class JarRunApplicationRequestBody(JarRunRequestBody):
    """Run a program; its main function runs in the cluster."""

    applicationId: Id | None = None


class StateQuery(msgspec.Struct):
    """What a keyed state holds for a key."""

    operator: str = ""
    state: str = ""
    key: Any = None
