"""A worker process that runs epochs until it is killed; ``test_killed_workers`` starts it again and again.

    python -m tests.runtime.state.disk.killed_worker DIRECTORY

In the directory are ``local``, the machine's disk; ``files``, the checkpoint storage; and ``history``, the driver's
record of versions that are complete: a version counts when its line is there. After some epochs timers fire, which
touch keys as an epoch does.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from tests.runtime.state.backend_suite import Copy
from tests.runtime.state.copies import JOB, TASK

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.task_storage import FolderStorage
from millrace.runtime.state.disk import state, writer
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.storage import NO_PAST, Past, whole_at

KEYS = 400
TOUCHED = 150


def history(directory: Path) -> Past:
    """The versions that count."""
    past = NO_PAST
    for line in (directory / "history").read_text().splitlines():
        version, kind = line.split()
        past = whole_at(int(version)) if kind == "whole" else past.then(int(version))
    return past


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
    past = history(directory)
    copy.load(past, storage)
    version = past.versions[-1] + 10  # a number that no killed worker has used
    while True:
        touch(copy, draw)
        whole = draw.random() < 0.2
        copy.finish(version, storage, whole)
        with open(directory / "history", "a") as file:
            file.write(f"{version} {'whole' if whole else 'changes'}\n")
        for _ in range(draw.randrange(3)):
            with copy.working.firing() as same:
                assert same
                touch(copy, draw)
        assert copy.working.goes_on()
        version += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
