"""Asks a cluster of ours what Flink was asked, about jobs that really run: a quarter of an hour.

python -m tests.flink.rest.ours.ask              # does anything differ that has no reason?
python -m tests.flink.rest.ours.ask --keep       # write docs/rest-differences.md
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.operating import Operated
from tests.flink.rest.ask import HISTORY, REST, Ask
from tests.flink.rest.asks import all_asks
from tests.flink.rest.compare import compare
from tests.flink.rest.differences import Difference
from tests.flink.rest.known import explained
from tests.flink.rest.ours.jobs import OurJobs
from tests.flink.rest.world import World

SETTINGS = ("security.rest.auth=none", "web.checkpoints.history=1000")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="parts of what is asked: 'jobs', 'savepoints', ...")
    given = parser.parse_args()
    begun = time.monotonic()

    def told(ask: Ask) -> None:
        print(f"{time.monotonic() - begun:6.1f} {ask.key[:150]}", flush=True)

    with tempfile.TemporaryDirectory(prefix="millrace-") as temporary:
        with Operated(Path(temporary), *SETTINGS) as cluster:
            world = World(cluster.url.replace("localhost", "127.0.0.1"), OurJobs(cluster, Path(temporary, "savepoints")))
            asks = [each for each in all_asks(REST)]
            found = compare({REST: world.base}, world, asks, watch=told)
    known, others = explained(found)
    for reason, differences in known.items():
        if differences:
            print(f"{len(differences)} times: {reason.reason}")
    print("\n".join(str(each) for each in others) or "nothing else differs")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
