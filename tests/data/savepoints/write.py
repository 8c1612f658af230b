"""Writes the savepoint of a release, for all later ones to read:

    python -m tests.data.savepoints.write 0.1

Beside it, in ``0.1.json``, is a digest of what the program had put out by then. What is there is never written anew: a
savepoint must be readable in the form in which its release wrote it. Those of jobs with patterns are in ``patterns``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.cep.pattern_jobs import JOBS
from tests.checkpoint.jobs import SavedJob, collecting
from tests.state.every_state import every_state
from tests.state.oracle import digest, texts

HERE = Path(__file__).parent
EPOCHS, EPOCHS_OF_PATTERNS = 7, 12


def write(folder: Path, build: Any, epochs: int) -> None:
    """One savepoint, and what the program had put out before it."""
    if folder.exists():
        print(f"{folder} is there already")
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        job = SavedJob(collecting(build, 2), Path(directory))
        for _ in range(epochs - 1):
            job.epoch()
        job.epoch(folder)
    collected = job.collected if folder.parent != HERE else texts(job.collected)
    folder.with_name(f"{folder.name}.json").write_text(json.dumps(digest(collected)) + "\n")


if __name__ == "__main__":
    write(HERE / sys.argv[1], every_state, EPOCHS)
    for name, job in JOBS.items():
        write(HERE / "patterns" / sys.argv[1] / name, job, EPOCHS_OF_PATTERNS)
