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
TIMEOUT = 240
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

    def __str__(self) -> str:
        return "\n".join((f"exit code {self.code}", *self.out, *self.err))


class Place:
    """The directories of one job."""

    def __init__(self, directory: Path) -> None:
        self.ledger = directory / "ledger"
        self.checkpoints = directory / "checkpoints"
        self.savepoints = directory / "savepoints"
        self.crashes = directory / "crashes"
        self.temporary = directory / "temporary"
        self.out = directory / "out"
        self.err = directory / "err"
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
    ) -> subprocess.Popen[bytes]:
        """``arguments``: more of those of the job. What it says is added to the files ``out`` and ``err``."""
        given = {"ledger": str(self.ledger), **SIZES}
        configuration = {
            **CONFIGURATION,
            "execution.checkpointing.dir": str(self.checkpoints),
            **(properties or {}),
        }
        command = [
            *(sys.executable, "-m", "millrace", "run", "-p", str(parallelism), *options),
            *(part for key, value in configuration.items() for part in ("-D", f"{key}={value}")),
            *(() if restore is None else ("-s", restore)),
            *(str(JOB), json.dumps({**given, **arguments})),
        ]
        surroundings = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "TMPDIR": str(self.temporary),
            **environment(self.crashes, crashes),
        }
        with open(self.out, "ab") as out, open(self.err, "ab") as err:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=surroundings)

    def run(self, *args: Any, **kwargs: Any) -> Ended:
        """``start``, and the end of it."""
        process = self.start(*args, **kwargs)
        try:
            process.wait(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the job has not ended after {TIMEOUT} s\n{self.said()}") from None
        finally:
            process.kill()
            process.wait()
        return self.said(process.returncode)

    def said(self, code: int = -1) -> Ended:
        """What has been said so far."""
        return Ended(code, self.out.read_text().splitlines(), self.err.read_text().splitlines())

    def check(self, splits: Sequence[int] = (SIZES["records"],) * SIZES["splits"], rules: int = SIZES["rules"]) -> None:
        """Lost 0, doubled 0: see that the ledger holds what all records make, and nothing twice.

        ``splits``: the number of records of each; the default is that of a job which has come to its end.
        """
        ledger = read_ledger(self.ledger)
        told = Ledger(tuple(_plain(entry) for entry in ledger.entries), ledger.prepared)
        told.check(expected(splits, rules))
        assert ledger.prepared == ()


def _plain(entry: Any) -> Any:
    """Without what no oracle knows: which timer has ended the waiting of a record."""
    records = tuple(record[:3] if record[0] == "waited" else record for record in entry.records)
    return type(entry)(entry.name, entry.epoch, entry.subtask, records)
