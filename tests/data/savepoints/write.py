"""Writes the savepoint of a release, for all later ones to read:

    python -m tests.data.savepoints.write 0.1

Beside it, in ``0.1.json``, is a digest of what the program had put out by then. What is there is never written anew: a
savepoint must be readable in the form in which its release wrote it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.checkpoint.jobs import SavedJob, collecting
from tests.state.every_state import every_state
from tests.state.oracle import digest, texts

HERE = Path(__file__).parent
EPOCHS = 7


def write(version: str) -> None:
    folder, results = HERE / version, HERE / f"{version}.json"
    if folder.exists():
        sys.exit(f"{folder} is there already")
    with tempfile.TemporaryDirectory() as directory:
        job = SavedJob(collecting(every_state, 2), Path(directory))
        for _ in range(EPOCHS - 1):
            job.epoch()
        job.epoch(folder)
    results.write_text(json.dumps(digest(texts(job.collected))) + "\n")


if __name__ == "__main__":
    write(sys.argv[1])
