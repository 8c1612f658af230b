"""Restores a job from a checkpoint of its own, a checkpoint of another job, or a savepoint.

The state of an operator is found by its uid. A uid that the program has not set is derived from the names of all
operators before it, so a query with another projection, or with its aggregate computed in two phases, has other uids.
Its state still belongs to the same groups or rows, and is found by what all of these uids have in common.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from millrace.checkpoint.compare import Comparison, compare, compare_states, inherited
from millrace.checkpoint.compare import goes_on as states_go_on
from millrace.checkpoint.directory import SHARED, CheckpointDirectory, check_sizes, check_trusted, read_checkpoint
from millrace.checkpoint.folder import Folder, SnapshotError, open_folder
from millrace.checkpoint.metadata import CHECKPOINT, METADATA, Metadata, read_metadata
from millrace.checkpoint.shared_folder import living_driver
from millrace.common.files.file_systems import absolute
from millrace.runtime.bases.epoch_protocol import EpochPlan
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.coordination.snapshot import OperatorPlace, same_state
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.info import StateInfo
from millrace.runtime.storage import first_of_epoch

# Operators whose derived uid has changed

V = TypeVar("V")
_DERIVED = re.compile(r"[0-9a-f]{32}")


def found_by_kin(job: JobGraph, metadata: Metadata) -> dict[str, str]:
    """uid of an operator now -> its uid in the savepoint or checkpoint, for operators whose uid has changed and whose
    earlier operator is unambiguous."""
    here = {info.uid for info in job.operators}
    left = [place for place in metadata.operators if place.uid not in here and _DERIVED.fullmatch(place.uid)]
    known = metadata.by_uid
    found: dict[str, str] = {}
    for info in job.operators:
        if info.uid in known or not _DERIVED.fullmatch(info.uid):
            continue
        meant = _only([place for place in left if same_state(place, info)])
        if meant is not None:
            found[info.uid] = meant.uid
    return {uid: before for uid, before in found.items() if list(found.values()).count(before) == 1}


def _only(places: list[OperatorPlace]) -> OperatorPlace | None:
    return places[0] if len(places) == 1 else None


def with_uids_of_now(metadata: Metadata, uids: Mapping[str, str]) -> Metadata:
    """The metadata with the present uids of the operators."""
    if not uids:
        return metadata
    now = {before: uid for uid, before in uids.items()}

    def renamed(by_uid: Mapping[str, V]) -> dict[str, V]:
        return {now.get(uid, uid): value for uid, value in by_uid.items()}

    return replace(
        metadata,
        operators=tuple(replace(place, uid=now.get(place.uid, place.uid)) for place in metadata.operators),
        states=renamed(metadata.states),
        saved=renamed(metadata.saved),
        key_types=renamed(metadata.key_types),
    )


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Restore:
    """A checkpoint or savepoint that a job is restored from."""

    uri: str
    coordinator: Coordinator
    metadata: Metadata
    comparison: Comparison
    order: EpochPlan | None
    """the plan that makes the tasks restore their state; None: they continue from their own files"""
    claimed: bool = False
    """whether the files belong to the restored job now"""
    may_drop: bool = False
    """whether state that does not fit may be dropped"""

    def compare_states(self, asked: Mapping[str, Sequence[StateInfo]]) -> Comparison:
        """Compare it with the states that the functions have requested. Raises ``RestoreError``."""
        job, metadata = self.coordinator.job, self.metadata
        found = compare_states(job, metadata, asked, self.comparison, self.may_drop)
        self.coordinator.inherit(inherited(job, metadata), states_go_on)
        return found

    def release(self) -> None:
        """Delete what the job has claimed and does not need any more, because it has a checkpoint of its own."""
        if self.claimed and self.order is not None:
            dispose(self.uri)


def restore_from(
    path: str, coordinator: Coordinator, allow_non_restored: bool, claim: bool, trust_directory: bool = False
) -> Restore:
    """Restore a new job from a checkpoint or savepoint at a path or URI; its pickles are run.

    A checkpoint may belong to a job that still runs: then the transactions of that job's sinks are not touched.

    :param trust_directory: whether every user who could have written it may be trusted.
    :raises NotPrivateError: another user could have written it.
    :raises SnapshotError: nothing usable is there; the text names the file. Or ``claim`` was requested for files of a
        running job.
    :raises RestoreError: the program does not fit.
    """
    folder, metadata = _open(path)
    if not trust_directory:
        check_trusted(folder, base_folder(folder, metadata), metadata)
    driver = living_driver(_parent(folder)) if metadata.kind == CHECKPOINT else None
    if driver is not None:
        if claim:
            raise SnapshotError(
                f"{folder.uri} can't be claimed: its job {metadata.job_id} still runs ({driver}). Stop it, or use the "
                f"claim mode NO_CLAIM, or a savepoint"
            )
        logger.warning(
            "%s is of job %s, which still runs (%s): both go on from there, and what it has prepared with its sinks is "
            "left alone",
            folder.uri,
            metadata.job_id,
            driver,
        )
    uids = found_by_kin(coordinator.job, metadata)
    metadata = with_uids_of_now(metadata, uids)
    snapshot = metadata.snapshot()
    comparison = compare(coordinator.job, metadata, snapshot, allow_non_restored)
    ended = metadata.kind == CHECKPOINT and driver is None
    savepoint = metadata.kind != CHECKPOINT
    order = coordinator.begin_from(
        snapshot, folder.uri, ended, savepoint=savepoint, may_drop=allow_non_restored, uids=uids
    )
    return Restore(folder.uri, coordinator, metadata, comparison, order, claim, allow_non_restored)


def _open(path: str) -> tuple[Folder, Metadata]:
    """The folder and metadata of the complete checkpoint or savepoint at a path; for the directory of a job, of its
    newest complete checkpoint."""
    folder = open_folder(absolute(path).rstrip("/").removesuffix(f"/{METADATA}"))
    if folder.size(METADATA) is not None:
        metadata = read_checkpoint(folder)
        base = base_folder(folder, metadata)
        check_sizes(base.uri, metadata, base.sizes())
        return folder, metadata
    directory = CheckpointDirectory(folder)
    listing = directory.listing()
    if not listing.usable:
        raise SnapshotError(f"{folder.uri} is no checkpoint or savepoint: it has no file {METADATA}")
    number, metadata, damaged = directory.newest(listing)
    _warn(directory, number, damaged)
    return folder.child(f"chk-{number}"), metadata


def go_on(directory: CheckpointDirectory, coordinator: Coordinator) -> Restore | None:
    """Let a new driver continue the job of a dead one from its last complete checkpoint; None if there is none, and the
    job starts again.

    The program may have changed: then its tasks restore the state as from a savepoint.

    :raises SnapshotError: all checkpoints are damaged; the text is about the newest one.
    """
    listing = directory.listing()
    next_epoch = directory.unused_epoch(listing)
    directory.folder.sweep()
    if not listing.usable:
        coordinator.begin_anew(next_epoch)
        directory.drop_unneeded(())
        return None
    number, metadata, damaged = directory.newest(listing)
    _warn(directory, number, damaged)
    place = directory.folder.child(f"chk-{number}")
    uids = found_by_kin(coordinator.job, metadata)
    metadata = with_uids_of_now(metadata, uids)
    snapshot = metadata.snapshot()
    kept = directory.kept(listing, until=number)
    if coordinator.checkpoints is not None:
        coordinator.checkpoints.adopt(kept)
    comparison = compare(coordinator.job, metadata, snapshot, allow_non_restored=False)
    for broken, error in damaged.items():
        directory.set_aside(broken, error)
    if uids or not snapshot.fits(coordinator.job):
        order = coordinator.begin_from(snapshot, place.uri, ended=True, next_epoch=next_epoch, uids=uids)
    else:
        order = None
        coordinator.go_on(snapshot, next_epoch, place.uri)
        coordinator.inherit(inherited(coordinator.job, metadata), states_go_on)
    directory.drop_unneeded(kept)  # not before their numbers are out of use
    return Restore(place.uri, coordinator, metadata, comparison, order)


def _warn(directory: CheckpointDirectory, number: int, damaged: Mapping[int, SnapshotError]) -> None:
    """Log which checkpoints could not be used, and what that means."""
    for broken, error in damaged.items():
        logger.warning(
            "checkpoint %s/chk-%d is of no use (%s): going on from %s/chk-%d, the one before. What sinks have "
            "committed since then is written a second time",
            directory.folder.uri,
            broken,
            error,
            directory.folder.uri,
            number,
        )


def dispose(path: str) -> None:
    """Delete a savepoint, or a checkpoint with the state files that no other checkpoint needs.

    :raises SnapshotError: there is none at the path.
    """
    folder = open_folder(absolute(path))
    metadata = read_metadata(folder)
    if metadata.kind != CHECKPOINT:
        folder.delete_tree()
        return
    directory = CheckpointDirectory(_parent(folder))
    directory.delete(metadata.id)
    kept = directory.kept()
    if not kept:
        directory.delete_all()
        return
    storage = directory.storage()
    for task in metadata.tasks:
        storage.discard(task, first_of_epoch(min(other.firsts.get(task, 0) for other in kept)))


def snapshot_path(path: str) -> str:
    """The path of a savepoint or checkpoint, given that, its ``_metadata`` file, or the directory of a job: then of its
    last checkpoint."""
    uri = absolute(path).rstrip("/").removesuffix("/_metadata")
    folder = open_folder(uri)
    if folder.size("_metadata") is None:
        numbers = CheckpointDirectory(folder).numbers()
        if numbers:
            return folder.child(f"chk-{numbers[-1]}").uri
        raise SnapshotError(f"{uri} is no checkpoint or savepoint: it has no file _metadata")
    return uri


def base_folder(folder: Folder, metadata: Metadata) -> Folder:
    """The folder to which the paths of its files are relative."""
    return _parent(folder).child(SHARED) if metadata.kind == CHECKPOINT else folder


def _parent(folder: Folder) -> Folder:
    return open_folder(folder.uri.rstrip("/").rpartition("/")[0])
