"""Tasks of another parallelism take over a checkpoint: how much does each read, and how much memory does that take?

Writes a checkpoint (or a savepoint) of earlier tasks with keyed state (8-byte keys and values), then lets each of the
new tasks take its share over in a process of its own, one after the other. Bytes are those that are asked of files,
against the task's part of all bytes; memory is the most that a process had for itself (RssAnon) beyond what it had
before, against what it has at the end, when only the share is left.

    python -m benchmarks.restore
    python -m benchmarks.restore --keys 10000000 --before 12 --now 16
    python -m benchmarks.restore --savepoint
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.state_backends import PeakAnonymous, anonymous_mb
from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.metadata import Metadata, SavedOperator, read_metadata, write_metadata
from millrace.checkpoint.sections import key_groups
from millrace.checkpoint.snapshot_files import keyed_state
from millrace.checkpoint.state_files import iter_states, write_states
from millrace.checkpoint.stored_file import LocalFile
from millrace.checkpoint.task_storage import FolderStorage
from millrace.runtime.coordination.snapshot import OperatorPlace, TaskChain
from millrace.runtime.exchange.keys import group_range
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.storage import version_of

UID = "operator"
MAX_PARALLELISM = 128
MOST_BYTES, MOST_MEMORY = 1.2, 1.5


def entries_of(keys: int, groups: range) -> dict[int, int]:
    """The state of some key groups."""
    chosen: dict[int, int] = {}
    for start in range(0, keys, 1_000_000):
        numbers = np.arange(start, min(start + 1_000_000, keys), dtype=np.int64) * 1_000_003 + (1 << 40)
        found = key_groups(numbers.tolist(), MAX_PARALLELISM)
        own = numbers[(found >= groups.start) & (found < groups.stop)].tolist()
        chosen.update(zip(own, (number + 1 for number in own)))
    return chosen


def write(directory: str, keys: int, before: int, savepoint: bool) -> int:
    """Bytes of the whole state."""
    folder = open_folder(directory)
    storage = FolderStorage(folder.child("shared"), {UID: MAX_PARALLELISM})
    tasks, files = {}, []
    for subtask in range(before):
        entries = entries_of(keys, group_range(subtask, MAX_PARALLELISM, before))
        keyed = {"count": ("value", entries)}
        if savepoint:
            files += write_states(folder, UID, subtask, MAX_PARALLELISM, [keyed], None)
        else:
            piece = {UID: (keyed, None, None, None, None)}
            tasks[0, subtask] = TaskChain(1, storage.write_full((0, subtask), version_of(1, 1), [piece]), (), (1,))
    place = OperatorPlace(UID, "an operator", "Operator", before, MAX_PARALLELISM, 0, 0)
    saved = {UID: SavedOperator(tuple(files), (None,) * before)} if savepoint else {}
    kind = "savepoint" if savepoint else "checkpoint"
    write_metadata(folder, Metadata(kind, "job", "job", 1, 0, (place,), saved=saved, history=(1,), tasks=tasks))
    return sum(size for path, size in folder.sizes().items() if path != "_metadata")


def take_over(directory: str, subtask: int, now: int) -> dict[str, Any]:
    """One task; what it has read and needed."""
    read = 0
    plain = LocalFile.read

    def counted(file: LocalFile, begin: int, length: int) -> bytes:
        nonlocal read
        content = plain(file, begin, length)
        read += len(content)
        return content

    folder = open_folder(directory)
    metadata = read_metadata(folder)
    groups = group_range(subtask, MAX_PARALLELISM, now)
    backend = KeyedStateBackend()
    list(pieces_of(folder, metadata, range(0)))  # what is imported when it is first used
    gc.set_threshold(200_000, 50, 1_000)  # as in a worker of Spark
    gc.collect()
    LocalFile.read = counted  # type: ignore[method-assign]
    had = anonymous_mb()
    memory = PeakAnonymous()
    began = time.perf_counter()
    for piece in pieces_of(folder, metadata, groups):
        backend.apply(piece)
        del piece
    elapsed = time.perf_counter() - began
    peak = memory.stop()
    gc.collect()
    kept = anonymous_mb() - had
    return {
        "keys": len(backend.full()["count"][1]),
        "read": read,
        "memory": max(peak - had, kept) / kept,
        "kept_mb": kept,
        "seconds": elapsed,
    }


def pieces_of(folder: Any, metadata: Metadata, groups: range) -> Iterator[dict[str, Any]]:
    if metadata.saved:
        return iter_states(folder, metadata.saved[UID].files, groups)
    return keyed_state(folder.child("shared"), metadata, metadata.operators[0], groups, MAX_PARALLELISM)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--before", type=int, default=12, help="earlier parallelism")
    parser.add_argument("--now", type=int, default=16, help="new parallelism")
    parser.add_argument("--savepoint", action="store_true")
    parser.add_argument("--task", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task is not None:
        print(json.dumps(take_over(given.task[0], int(given.task[1]), given.now)))
        return
    directory = tempfile.mkdtemp(prefix="millrace-benchmark-")
    try:
        stored = write(directory, given.keys, given.before, given.savepoint)
        kind = "savepoint" if given.savepoint else "checkpoint"
        print(f"{kind}: {given.keys:,} keys, {stored / 1e6:.1f} MB, {given.before} -> {given.now} tasks", flush=True)
        found = []
        for subtask in range(given.now):
            command = [sys.executable, "-m", "benchmarks.restore", "--now", str(given.now)]
            command += ["--task", directory, str(subtask)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            own = stored * len(group_range(subtask, MAX_PARALLELISM, given.now)) / MAX_PARALLELISM
            task = json.loads(done.stdout.splitlines()[-1])
            found.append({**task, "read": task["read"] / own})
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    assert sum(task["keys"] for task in found) == given.keys, "every key in one task"
    most_read, most_memory = (max(task[what] for task in found) for what in ("read", "memory"))
    print(f"read: at most {most_read:.2f} of its own bytes (to reach: {MOST_BYTES})")
    kept = statistics.median(task["kept_mb"] for task in found)
    print(f"memory: at most {most_memory:.2f} of its share, which is {kept:.0f} MB (to reach: {MOST_MEMORY})")
    print(f"time: {statistics.median(task['seconds'] for task in found):.2f} s a task (median)")
    sys.exit(most_read > MOST_BYTES or most_memory > MOST_MEMORY)


if __name__ == "__main__":
    main()
