"""Runs the job with crashes, as a command of its own, and looks at what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.expected import expected
from tests.crash.points import Crash, environment

from millrace.testing import Ledger, read_ledger

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).with_name("job.py")
SIZES = {"splits": 3, "records": 240, "rules": 20, "per_epoch": 8}
"""of each split; all end in the 30th epoch"""
TIMEOUT = 150
"""s for a run with a few restarts; without load it takes a fifth of that"""

CONFIGURATION = {
    # More epochs than checkpoints, so that a driver that dies loses some.
    "execution.checkpointing.interval": "200 ms",
    "millrace.epoch.interval-ms": "50",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "10",
    "restart-strategy.fixed-delay.delay": "100 ms",
}


@dataclass(frozen=True)
class Ended:
    """What a run has said."""

    code: int
    out: list[str]
    err: list[str]

    def said(self, word: str) -> list[str]:
        """The rest of the output's lines that begin with the word."""
        return [line.removeprefix(word).strip() for line in self.out if line.startswith(f"{word} ")]


class Place:
    """The directories of one job."""

    def __init__(self, directory: Path) -> None:
        self.ledger = directory / "ledger"
        self.checkpoints = directory / "checkpoints"
        self.savepoints = directory / "savepoints"
        self.crashes = directory / "crashes"
        self.temporary = directory / "temporary"
        for folder in (self.crashes, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)

    def start(
        self,
        crashes: Sequence[Crash] = (),
        parallelism: int = 2,
        restore: str | None = None,
        options: Sequence[str] = (),
        properties: dict[str, str] | None = None,
        **arguments: Any,
    ) -> subprocess.Popen[str]:
        """``arguments``: more of those of the job."""
        given = {"ledger": str(self.ledger), **SIZES}
        configuration = {
            **CONFIGURATION,
            "execution.checkpointing.dir": str(self.checkpoints),
            **(properties or {}),
        }
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "millrace", "run", "-p", str(parallelism), *options),
                *(part for key, value in configuration.items() for part in ("-D", f"{key}={value}")),
                *(() if restore is None else ("-s", restore)),
                *(str(JOB), json.dumps({**given, **arguments})),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
                "TMPDIR": str(self.temporary),
                **environment(self.crashes, crashes),
            },
        )

    def run(self, *args: Any, **kwargs: Any) -> Ended:
        """``start``, and the end of it."""
        process = self.start(*args, **kwargs)
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"the job has not ended after {TIMEOUT} s\n{out}\n{err}") from None
        return Ended(process.returncode, out.splitlines(), err.splitlines())

    def check(self) -> Ledger:
        """Lost 0, doubled 0: see that the ledger holds what all records make, and nothing twice."""
        ledger = read_ledger(self.ledger)
        told = Ledger(tuple(_plain(entry) for entry in ledger.entries), ledger.prepared)
        told.check(expected([SIZES["records"]] * SIZES["splits"], SIZES["rules"]))
        return ledger


def _plain(entry: Any) -> Any:
    """Without what no oracle knows: which timer has ended the waiting of a record."""
    records = tuple(record[:3] if record[0] == "waited" else record for record in entry.records)
    return type(entry)(entry.name, entry.epoch, entry.subtask, records)
