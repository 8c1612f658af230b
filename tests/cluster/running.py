"""Runs the job on a cluster, hits processes meanwhile, and looks at what is left: lost 0, doubled 0, no torn line."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from tests.cluster.job import KEYS
from tests.cluster.victims import Victim, choose, find

from millrace.testing import read_ledger

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).with_name("job.py")
SIZES = {"splits": 3, "records": 160, "per_epoch": 5}
CONFIGURATION = {
    "execution.checkpointing.interval": "300 ms",
    "millrace.epoch.interval-ms": "100",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "8",
    "restart-strategy.fixed-delay.delay": "200 ms",
    "spark.executor.memory": "500m",
    "spark.network.timeout": "10s",
    "spark.network.timeoutInterval": "3s",
    "spark.executor.heartbeatInterval": "1s",
    "spark.deploy.maxExecutorRetries": "100",
    "spark.task.maxFailures": "4",
    "spark.excludeOnFailure.enabled": "false",
}


@dataclass(frozen=True)
class Hit:
    """What happens to a process, some time after the job has written its first rows."""

    victim: Victim
    how: Callable[[psutil.Process], None]
    after: float
    """s since the hit before"""


class Run:
    """One run of the job in a directory of its own."""

    job = JOB

    def __init__(
        self, directory: Path, master: str, others: Sequence[int] = (), parallelism: int = 6, **properties: str
    ) -> None:
        self.directory = directory
        self._parallelism = parallelism
        self._master = master
        self._others = [psutil.Process(pid) for pid in others]
        self._properties = properties
        directory.mkdir(parents=True, exist_ok=True)

    def arguments(self) -> dict[str, Any]:
        """What the program is given."""
        return {"out": str(self.directory / "out"), **SIZES}

    def start(self) -> subprocess.Popen[bytes]:
        configuration = {
            **CONFIGURATION,
            "execution.checkpointing.dir": str(self.directory / "checkpoints"),
            "spark.executorEnv.PYTHONPATH": str(ROOT),
            **self._properties,
        }
        command = [
            *(sys.executable, "-m", "millrace", "run", "-p", str(self._parallelism)),
            *("--master", self._master, "--no-ship-folder"),
            *(part for key, value in configuration.items() for part in ("-D", f"{key}={value}")),
            *(str(self.job), json.dumps(self.arguments())),
        ]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
        with open(self.directory / "said", "ab") as said:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment)

    def hit(self, hits: Sequence[Hit], chance: random.Random, timeout: float) -> None:
        """Run to the end, with the hits; all is well then."""
        process = self.start()
        try:
            root = psutil.Process(process.pid)
            until = time.monotonic() + timeout
            self._wait(lambda: self.has_begun() or process.poll() is not None, until, "the first rows")
            for hit in hits:
                time.sleep(hit.after)
                found = find(hit.victim, root, self._others) if process.poll() is None else []
                chosen = choose(found, chance)
                self._say(f"{hit.victim.value}: {chosen}")
                if chosen is not None:
                    hit.how(chosen)
            self._wait(lambda: process.poll() is not None, until, "the end")
        finally:
            process.kill()
            process.wait()
        assert process.returncode == 0, self.said()
        self.check()

    def _wait(self, over: Callable[[], bool], until: float, what: str) -> None:
        while not over():
            assert time.monotonic() < until, f"{what} did not come\n{self.said()}"
            time.sleep(0.1)

    def has_begun(self) -> bool:
        """Whether there are rows."""
        return any(path.is_file() for path in (self.directory / "out").glob("**/*"))

    def _say(self, line: str) -> None:
        with open(self.directory / "said", "a") as said:
            said.write(f"{time.strftime('%X')} {line}\n")

    def said(self) -> str:
        return (self.directory / "said").read_text()

    def check(self) -> None:
        """The three sinks hold what a plain count of the numbers gives, each record once."""
        expected = Counter(
            (split, number, number // KEYS + 1)
            for split in range(SIZES["splits"])
            for number in range(SIZES["records"])
        )
        ledger = read_ledger(self.directory / "out" / "ledger")
        assert ledger.prepared == ()
        assert Counter(tuple(record) for entry in ledger.entries for record in entry.records) == expected
        for folder in ("rows", "table"):
            assert self.lines(self.directory / "out" / folder) == expected, folder

    @staticmethod
    def lines(folder: Path, width: int = 3) -> Counter[tuple[int, ...]]:
        """The lines of all visible files; one that is torn is not so many numbers."""
        found: Counter[tuple[int, ...]] = Counter()
        for path in folder.rglob("*"):
            if path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts):
                for line in path.read_text().splitlines():
                    numbers = tuple(map(int, line.split(",")))
                    assert len(numbers) == width, f"{path}: torn line {line!r}"
                    found[numbers] += 1
        return found
