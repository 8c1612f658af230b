"""Runs the job for an hour, kills its processes at random, and watches what must not grow.

    python tests/crash/soak.py --minutes 60 --seed 1

In the first half workers, JVM and driver are killed, and the job is stopped with a savepoint and goes on with another
parallelism. In the second half the driver and its JVM live on, so that their memory can be compared: workers are killed
and savepoints taken. At the end the accounts must balance. The exit code is 1 if something is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import psutil
from tests.crash.points import completed_epochs
from tests.crash.running import Place

from millrace.testing import read_ledger

ENDLESS = 10**12
SIZES = {"splits": 3, "records": ENDLESS, "rules": ENDLESS, "per_epoch": 4}
SAMPLE_SECONDS = 2.0
CALM_SECONDS = (10, 25)
"""from one kill to the next, while only workers are killed"""
ROUGH_SECONDS = (25, 60)
"""enough to start a JVM in between"""
LIVE_SECONDS = 60.0
"""from one garbage collection to the next, in the calm half: what the JVM has then is what lives"""
STALLED_SECONDS = 180
"""without a completed epoch"""
GROWTH = 1.10
"""What memory may grow from the second quarter of the calm half to the last one"""
GROWTH_MB = 10
LIVE = "jvm live MB"
PROPERTIES = {
    "restart-strategy.fixed-delay.attempts": "1000000",
    "execution.checkpointing.interval": "500 ms",
    "millrace.epoch.interval-ms": "100",
}


class Processes:
    """Those of the job: ``millrace run``, the driver, its JVM, the daemon of the workers, the workers."""

    def __init__(self, run: subprocess.Popen[bytes]) -> None:
        self._run = psutil.Process(run.pid)

    def by_role(self) -> dict[str, list[psutil.Process]]:
        drivers = _children([self._run])
        begun = _children(drivers)
        jvms = [child for child in begun if _is_java(child)]
        # A daemon that was begun together with the JVM is a child of the driver, and the JVM's child its place holder.
        daemons = [child for child in begun if not _is_java(child)] or _children(jvms)
        workers = _children(daemons)
        return {"run": [self._run], "driver": drivers, "jvm": jvms, "daemon": daemons, "worker": workers}


def _children(parents: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Those of the parents that live: some are killed while they are looked for."""
    found = []
    for parent in parents:
        with contextlib.suppress(psutil.Error):
            found += parent.children()
    return found


def _live_mb(jvm: psutil.Process) -> float | None:
    """The objects of a JVM after a garbage collection, which also lets Spark delete what belongs to the others; None
    without the JDK's ``jcmd``, or if the JVM does not answer."""
    command = ["jcmd", str(jvm.pid), "GC.class_histogram"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    total = next((line.split() for line in answer.splitlines() if line.startswith("Total")), None)
    return None if total is None else int(total[2]) / 2**20


def _is_java(process: psutil.Process) -> bool:
    try:
        return "java" in process.name()
    except psutil.Error:
        return False


class Soak:
    def __init__(self, directory: Path, minutes: float, seed: int) -> None:
        self.place = Place(directory)
        self.chance = random.Random(seed)
        self.order = directory / "order"
        self.began = time.time()
        self.end = self.began + minutes * 60
        self.calm_from = self.began + minutes * 30
        self.calm = False
        self.samples: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self.kills: list[tuple[float, str]] = []
        self.savepoints = self.restores = 0
        self.start(None)

    def start(self, savepoint: str | None) -> None:
        self.parallelism = self.chance.choice([1, 2, 3])
        self.run = self.place.start(
            parallelism=self.parallelism,
            restore=savepoint,
            options=() if savepoint is None else ("--claimMode", "claim"),
            properties={
                **PROPERTIES,
                "execution.checkpointing.savepoint-dir": str(self.place.savepoints),
                "spark.local.dir": str(self.place.temporary),
            },
            order=str(self.order),
            savepoints=str(self.place.savepoints),
            **SIZES,
        )
        self.processes = Processes(self.run)
        self.wait(lambda: self.epochs_since(now), now := time.time())

    def epochs_since(self, moment: float) -> bool:
        return any(epoch > moment for epoch, _ in completed_epochs(self.place.crashes)[-3:])

    def wait(self, until: Callable[[], Any], since: float) -> None:
        """Sample until something is so. Raises if it takes too long, or if the command has ended."""
        while not until():
            if self.run.poll() is not None or time.time() > since + STALLED_SECONDS:
                said = "\n".join((*self.place.said().out[-5:], *self.place.said().err[-20:]))
                raise AssertionError(f"nothing happens any more (exit code {self.run.poll()})\n{said}")
            time.sleep(0.2)
            self.sample()

    # -- what happens to the job ----------------------------------------------------------------------------------

    def go(self) -> None:
        while time.time() < self.end:
            calm = time.time() > self.calm_from
            if calm and not self.calm:
                self.calm, self.calm_from = True, time.time()
            pause = self.chance.uniform(*(CALM_SECONDS if calm else ROUGH_SECONDS))
            until = min(time.time() + pause, self.end)
            self.wait(lambda until=until: time.time() > until, time.time())
            done = self.chance.choice(("worker", "worker", "save") if calm else ("worker", "jvm", "driver", "rescale"))
            if done == "save":
                self.save()
            elif done == "rescale":
                self.start(self.stop("stop"))
                self.restores += 1
            else:
                self.kill(done)
        self.stop("drain")

    def kill(self, role: str) -> None:
        victims = self.processes.by_role().get(role)
        if victims:
            self.kills.append((time.time(), role))
            self.chance.choice(victims).kill()
            self.wait(lambda: self.epochs_since(self.kills[-1][0]), time.time())

    def save(self) -> None:
        """The job goes on; the user throws the savepoint away."""
        (driver,) = self.processes.by_role()["driver"]
        before = set(self.place.savepoints.glob("*"))
        driver.send_signal(signal.SIGUSR1)

        def saved() -> list[Path]:
            return [path.parent for path in self.place.savepoints.glob("*/_metadata") if path.parent not in before]

        self.wait(saved, time.time())
        self.savepoints += 1
        shutil.rmtree(saved()[0])

    def stop(self, how: str) -> str:
        """Let the job end; the path of its last savepoint."""
        self.order.write_text(how)
        self.savepoints += 1
        code = self.run.wait(STALLED_SECONDS)
        self.order.unlink()
        lines = self.place.said(code).out
        assert (code, lines[-1]) == (0, "finished"), "\n".join(self.place.said().err[-20:])
        return next(line.split()[1] for line in reversed(lines) if line.startswith("savepoint "))

    # -- what must not grow ---------------------------------------------------------------------------------------

    def sample(self) -> None:
        now = time.time()
        if self.samples["files"] and now < self.samples["files"][-1][0] + SAMPLE_SECONDS:
            return
        self.note("files", _files(self.place.checkpoints))
        self.note("temporary files", _files(self.place.temporary))
        for role, processes in self.processes.by_role().items():
            try:
                self.note(f"{role} MB", max((p.memory_info().rss for p in processes), default=0) / 2**20)
                self.note(f"{role} descriptors", max((p.num_fds() for p in processes), default=0))
            except psutil.Error:
                continue
        self.note("workers", len(self.processes.by_role().get("worker", ())))
        live = self.samples[LIVE]
        if self.calm and (not live or now > live[-1][0] + LIVE_SECONDS):
            for size in map(_live_mb, self.processes.by_role()["jvm"]):
                if size is not None:
                    self.note(LIVE, size)

    def note(self, what: str, value: float) -> None:
        self.samples[what].append((time.time(), value))

    def quarter(self, what: str, number: int) -> list[float]:
        """The samples of one quarter (0 to 3) of the calm half."""
        width = (self.end - self.calm_from) / 4
        begin = self.calm_from + number * width
        return [value for moment, value in self.samples[what] if begin <= moment < begin + width]

    def report(self) -> bool:
        """Print all figures: whether nothing has grown."""
        good = True
        print(f"\n{'':24}{'2nd quarter':>12}{'last':>12}{'max':>12}   of the calm half; max of all")
        for what in sorted(self.samples):
            second, last = (statistics.median(self.quarter(what, number) or [0]) for number in (1, 3))
            largest = max(value for _, value in self.samples[what])
            if what.endswith("files"):
                # They grow until a compaction (or until the JVM collects garbage, and deletes what Spark shuffled with
                # it), so medians say nothing about a short run.
                before = [value for moment, value in self.samples[what] if moment < self.calm_from]
                flat = max(self.quarter(what, 3), default=0) <= 1.25 * max(before + self.quarter(what, 1)) + 100
            elif what == "jvm MB" and self.samples[LIVE]:
                flat = True  # the heap may be as large as it is allowed to be; what lives in it has a row of its own
            else:
                flat = last <= second * GROWTH + GROWTH_MB
            good &= flat
            print(f"{what:24}{second:12.1f}{last:12.1f}{largest:12.1f}   {'' if flat else 'GROWS'}")
        self.report_kills()
        return good

    def report_kills(self) -> None:
        epochs = completed_epochs(self.place.crashes)
        print(f"\n{len(epochs)} epochs, {self.savepoints} savepoints, {self.restores} restores with a new parallelism")
        for role in ("worker", "jvm", "driver"):
            times = [_recovery(epochs, moment, role) for moment, who in self.kills if who == role]
            if times:
                print(
                    f"{role} killed {len(times)} times: next epoch complete after {statistics.median(times):.1f} s "
                    f"(median), {max(times):.1f} s at most"
                )

    def balance(self) -> None:
        """Raises ``AssertionError`` if a record is lost or doubled."""
        numbers: dict[str, int] = defaultdict(int)
        for record in read_ledger(self.place.ledger).records:
            if record[0] in ("numbered", "rule"):
                name = f"{record[0]}-{record[1]}" if record[0] == "numbered" else "rule"
                numbers[name] = max(numbers[name], record[-1 if name == "rule" else 2] + 1)
        splits = [numbers[f"numbered-{split}"] for split in range(SIZES["splits"])]
        self.place.check(splits, numbers["rule"])
        print(f"accounts balance: {sum(splits)} records, lost 0, doubled 0")


def _files(directory: Path) -> int:
    """How many there are, while the job deletes some: ``os.walk`` does not mind."""
    return sum(len(files) for _, _, files in os.walk(directory))


def _recovery(epochs: Sequence[tuple[float, int]], killed: float, role: str) -> float:
    """How long it took until an epoch was complete, one of a new driver if the old one could not go on."""
    before = next((driver for moment, driver in reversed(epochs) if moment <= killed), None)
    return next(
        moment - killed for moment, driver in epochs if moment > killed and (role == "worker" or driver != before)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="millrace-soak-"))
    print(f"seed {given.seed}, {given.minutes:g} minutes, {directory}", flush=True)
    soak = None
    try:
        soak = Soak(directory, given.minutes, given.seed)
        soak.go()
        good = soak.report()
        soak.balance()
    finally:
        if soak is not None:
            soak.run.kill()
    shutil.rmtree(directory)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
