"""What must hold at every step, whatever happens."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from tests.simulation.faults import Violation
from tests.simulation.merging import LONGEST

from millrace.checkpoint.directory import state_files
from millrace.checkpoint.metadata import Metadata, read_metadata
from millrace.checkpoint.task_storage import ORDERS, stored_version
from millrace.runtime.coordination.snapshot import TOGETHER
from millrace.spark.workers.orders import KEPT

if TYPE_CHECKING:
    from tests.simulation.world import World

    from millrace.runtime.bases.epoch_protocol import EpochOrder, EpochPlan
    from millrace.runtime.coordination.coordinator import Coordinator

_CHECKPOINT = re.compile(r"^(?P<job>.+)/chk-\d+/_metadata$")
_STATE = re.compile(r"^(?P<job>.+)/shared/(?P<file>.+)$")


class Promises:
    """Watches the disk and the sinks, and raises ``Violation``."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._checkpoints: dict[str, Metadata] = {}
        """path of the metadata -> checkpoints that anybody might go on from"""
        self._needed: dict[str, frozenset[str]] = {}
        """path of the metadata -> the files that it names"""
        self._recorded: set[str] = set()
        """what sinks have prepared and some checkpoint holds"""
        self._epochs: set[tuple[str, int]] = set()

    # -- files --------------------------------------------------------------------------------------------------------

    def file_written(self, path: str, content: bytes) -> None:
        """The driver is about to record something."""
        match = _CHECKPOINT.match(path)
        if match is None:
            self._check_savepoint(path, content)
            return
        metadata = read_metadata(_Single(path, content))  # type: ignore[arg-type]
        self._check_files(match["job"], metadata)
        self._checkpoints[path] = metadata
        self._needed[path] = frozenset(f"{match['job']}/shared/{name}" for name, _ in state_files(metadata))
        for committables in metadata.snapshot().committables.values():
            self._recorded.update(map(_name, committables))

    def _check_files(self, job: str, metadata: Metadata) -> None:
        for name, size in state_files(metadata):
            content = self._world.disk.files.get(f"{job}/shared/{name}")
            if content is None or len(content) != size:
                there = "missing" if content is None else f"{len(content)} bytes long"
                raise Violation(f"checkpoint {metadata.id} is recorded with {name} of {size} bytes, which is {there}")

    def _check_savepoint(self, path: str, content: bytes) -> None:
        if not path.endswith("/_metadata"):
            return
        for operator in read_metadata(_Single(path, content)).saved.values():  # type: ignore[arg-type]
            for file in operator.files:
                found = self._world.disk.files.get(f"{path.rpartition('/')[0]}/{file.path}")
                if found is None or len(found) != file.size:
                    raise Violation(f"a savepoint is recorded with {file.path}, which is missing or of another size")

    def file_deleted(self, path: str) -> None:
        """The driver is about to delete a file."""
        self.forget(path)
        for metadata, needed in self._needed.items():
            if path in needed:
                short = self._world.short
                raise Violation(f"{short(path)} is deleted, but {short(metadata)} needs it")

    def forget(self, path: str) -> None:
        """If this is the metadata of a checkpoint, nobody can go on from it any more."""
        if self._checkpoints.pop(path, None) is not None:
            del self._needed[path]

    def job_deleted(self, job: str) -> None:
        """A job and all its checkpoints are given up."""
        for path in [path for path in self._checkpoints if path.startswith(job + "/")]:
            self.forget(path)

    def check_leaks(self, job: str, retained: int, coordinator: Coordinator) -> None:
        """A checkpoint was recorded and nothing went wrong so far with deleting: only what is needed is there."""
        mine = [metadata for path, metadata in self._checkpoints.items() if path.startswith(job + "/")]
        if len(mine) > retained:
            raise Violation(f"{len(mine)} checkpoints are kept instead of {retained}")
        orders = 0
        for path in self._world.disk.files:
            match = _STATE.match(path)
            if match is None or match["job"] != job or path in self._world.haunted:
                continue
            if match["file"].startswith(f"{ORDERS}/"):
                orders += 1
                continue
            stored = stored_version(match["file"])
            assert stored is not None
            task, epoch = stored
            firsts = [metadata.tasks[task].first for metadata in mine if task in metadata.tasks]
            if not firsts or epoch < coordinator.compactions.oldest_held(task, min(firsts)):
                raise Violation(f"{self._world.short(path)} is still there, but no checkpoint needs it")
        if orders > KEPT:
            raise Violation(f"{orders} files with orders are still there")

    # -- epochs -------------------------------------------------------------------------------------------------------

    def planned(self, job_id: str, epoch: int) -> None:
        """A driver is about to run an epoch."""
        if (job_id, epoch) in self._epochs:
            raise Violation(f"epoch {epoch} is run a second time")
        self._epochs.add((job_id, epoch))

    def may_run(self, epoch: int, order: EpochOrder) -> None:
        """A run of a task begins that was started for an epoch."""
        if order.epoch != epoch:
            raise Violation(f"a run of epoch {epoch} has found the order of epoch {order.epoch}")

    def bounded(self, plan: EpochPlan, coordinator: Coordinator) -> None:
        """What makes up the state of a task does not grow with the number of epochs, and few tasks write all they have
        in the same one."""
        together = max(1, len(plan.tasks) // TOGETHER)
        most = self._world.compact_versions + (2 + self._world.merges * (LONGEST + 2)) * len(plan.tasks) // together
        longest = max(chain.versions for chain in coordinator._chains.tasks.values())
        if longest > most:
            raise Violation(f"a task has {longest} versions; compaction begins at {self._world.compact_versions}")
        compacting = sum(own.compact for own in plan.tasks.values())
        if compacting > together:
            raise Violation(f"{compacting} of {len(plan.tasks)} tasks write their whole state at the same time")

    # -- sinks --------------------------------------------------------------------------------------------------------

    def may_commit(self, name: str) -> None:
        if self._world.durable and name not in self._recorded:
            raise Violation(f"{name} is committed before a checkpoint holds it")

    def shown(self, name: str, records: Iterable[Hashable]) -> None:
        """Records were committed: none of them too often, none that nobody sent."""
        expected, counts = self._world.program.expected, self._world.ledger.counts
        for record in records:
            if counts[record] > expected[record]:
                raise Violation(
                    f"{record} is committed {counts[record]} times instead of {expected[record]}, at last by {name}"
                )


def _name(committable: Any) -> str:
    return committable if isinstance(committable, str) else committable.in_progress


class _Single:
    """A folder with one file."""

    def __init__(self, path: str, content: bytes) -> None:
        self.uri = path.rpartition("/")[0]
        self._content = content

    def read(self, path: str) -> bytes:
        return self._content
