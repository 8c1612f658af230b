"""A worker process that runs epochs until it is killed; ``test_killed_workers`` starts it again and again.

    python -m tests.runtime.state.disk.killed_worker DIRECTORY

In the directory are ``local``, the machine's disk; ``files``, the checkpoint storage; and ``history``, the driver's
record of versions that are complete: a version counts when its line is there.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from tests.runtime.state.backend_suite import Copy
from tests.runtime.state.copies import JOB, TASK

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.storage import FolderStorage
from millrace.runtime.state.disk import state, writer
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.versions import INITIAL

KEYS = 400
TOUCHED = 150


def history(directory: Path) -> tuple[int, ...]:
    """The versions that count, from the last whole state on."""
    lines = [line.split() for line in (directory / "history").read_text().splitlines()]
    versions = [int(version) for version, _ in lines]
    whole = max((place for place, (_, kind) in enumerate(lines) if kind == "whole"), default=None)
    return (INITIAL, *versions) if whole is None else tuple(versions[whole:])


def touch(copy: Copy, draw: random.Random) -> None:
    """Every key that is touched gets one more in each of its states."""
    for _ in range(TOUCHED):
        copy.backend.at = draw.randrange(KEYS)
        number = (copy.value.value() or 0) + 1
        copy.value.update(number)
        copy.list.add(number)
        copy.map.put(number % 7, number)
        copy.backend.event_timers.register(number, copy.backend.at)


def main(directory: Path) -> None:
    writer.BATCH = state.BATCH = 100  # so that writing takes several transactions
    plan, draw = OnDisk((str(directory / "local"),)), random.Random()
    storage = FolderStorage(open_folder(str(directory / "files")))
    copy = Copy(plan.state_of(JOB, TASK, dict))
    versions = history(directory)
    copy.bring_up(versions, storage)
    version = max(versions) + 10  # a number that no killed worker has used
    while True:
        touch(copy, draw)
        whole = draw.random() < 0.2
        copy.finish(version, storage, whole)
        with open(directory / "history", "a") as file:
            file.write(f"{version} {'whole' if whole else 'changes'}\n")
        copy.bring_up(history(directory), storage)
        version += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
