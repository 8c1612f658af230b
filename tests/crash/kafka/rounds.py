"""Many rounds of every kind of failure on three real brokers; what is done is added up for each commit.

    python tests/crash/kafka/rounds.py --rounds 25 --seed 7 --kinds driver,broker

The file ``build/crash-kafka.json`` keeps how many rounds each kind has had at this commit: what is there already is
not done again. The exit code is 1 if a round went wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.crash.kafka.running import KINDS, ROOT, CrashJob, three_brokers
from tests.servers.proxy import Proxy

from millrace.testing.services import Kafka

TALLY = ROOT / "build" / "crash-kafka.json"


class Tally:
    """Rounds by commit and kind."""

    def __init__(self, file: Path) -> None:
        self._file = file
        asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
        self.commit = asked.stdout.strip() or "unknown"
        self._all: dict[str, dict[str, int]] = json.loads(file.read_text()) if file.exists() else {}

    def of(self, kind: str) -> int:
        return self._all.get(self.commit, {}).get(kind, 0)

    def add(self, kind: str) -> None:
        self._all.setdefault(self.commit, {})[kind] = self.of(kind) + 1
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(self._all, indent=1))


def run(kind: str, rounds: int, seed: int, tally: Tally, servers: tuple[Kafka, Proxy]) -> None:
    """One job, as many rounds."""
    with tempfile.TemporaryDirectory(prefix="millrace-crashes-") as folder:
        job = CrashJob(*servers, Path(folder), seed, KINDS[kind])
        try:
            for number in range(rounds):
                began = time.monotonic()
                job.round(kind)
                tally.add(kind)
                print(f"{kind} {tally.of(kind)} ({number + 1} now): {time.monotonic() - began:.1f} s", flush=True)
            job.finish()
        finally:
            job.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25, help="of each kind, with those that the file has")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--kinds", default=",".join(KINDS))
    given = parser.parse_args()
    tally, failed = Tally(TALLY), []
    print(f"seed {given.seed}, commit {tally.commit}", flush=True)
    for kind in given.kinds.split(","):
        left = given.rounds - tally.of(kind)
        if left <= 0:
            continue
        try:
            with three_brokers() as servers:
                run(kind, left, given.seed, tally, servers)
        except AssertionError as error:
            print(f"{kind}: {error}", flush=True)
            failed.append(kind)
    print(", ".join(f"{kind} {tally.of(kind)}" for kind in KINDS), "FAILED: " + ", ".join(failed) if failed else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
