"""Asks a cluster of ours what Flink was asked, about jobs that really run, and says what differs without a reason.

    python -m tests.flink.rest.ours.ask                  # half an hour (`make rest`)
    python -m tests.flink.rest.ours.ask --keep           # write docs/rest-differences.md
    python -m tests.flink.rest.ours.ask --only command --save FILE
    python -m tests.flink.rest.ours.ask --found FILE ... # look again at what was found, without asking

The cluster has two cores of this machine and ends with the program.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.cluster.gateway import differences as gateway
from tests.cluster.operating import Operated
from tests.flink.rest.ask import GATEWAY, HISTORY, REST, Ask
from tests.flink.rest.asks import all_asks
from tests.flink.rest.cli.compare import compare as compare_commands
from tests.flink.rest.cli.steps import steps
from tests.flink.rest.cli.values import CommandValues
from tests.flink.rest.compare import compare
from tests.flink.rest.differences import Difference
from tests.flink.rest.known import by_reason, explained
from tests.flink.rest.ours.command import OurCommand
from tests.flink.rest.ours.history import history_server
from tests.flink.rest.ours.jobs import OurJobs
from tests.flink.rest.ours.reasons import REASONS
from tests.flink.rest.page import PAGE, page
from tests.flink.rest.world import World

PARTS = ("rest", "gateway", "command")
SETTINGS = {
    "parallelism.default": "1",
    "security.rest.auth": "none",
    "security.rest.yarn-cancel": "true",
    "millrace.master": "local[2]",
}
"""what Flink was started with, and what it does without being told"""


def asked_of_rest(folder: Path) -> list[Difference]:
    """All differences of the REST API and of the history server."""
    begun = time.monotonic()

    def told(ask: Ask) -> None:
        print(f"{time.monotonic() - begun:6.1f} {ask.key[:150]}", flush=True)

    with _cluster(folder) as cluster:
        world = World(cluster.url.replace("localhost", "127.0.0.1"), OurJobs(cluster, folder / "savepoints"))
        asks = all_asks(REST)
        last = max(at for at, ask in enumerate(asks) if ask.path != "/cluster")
        found = compare({REST: world.base}, world, asks[: last + 1], watch=told)
        with history_server(cluster, folder / "archives") as base:
            found += compare({HISTORY: base}, world, watch=told)
        return found + compare({REST: world.base}, world, asks[last + 1 :], watch=told)


def asked_of_command(folder: Path) -> list[Difference]:
    """All differences of the command line."""
    with _cluster(folder) as cluster:
        world = World(cluster.url.replace("localhost", "127.0.0.1"), OurJobs(cluster, folder / "savepoints"))
        return compare_commands(OurCommand(cluster), CommandValues(world))


def _cluster(folder: Path) -> Operated:
    folder.mkdir()
    settings = {**SETTINGS, "execution.checkpointing.dir": (folder / "checkpoints").as_uri()}
    return Operated(folder, *(f"{key}={value}" for key, value in settings.items()))


def differences(parts: Sequence[str]) -> list[Difference]:
    with tempfile.TemporaryDirectory(prefix="millrace-") as temporary:
        found = asked_of_rest(Path(temporary, "rest")) if "rest" in parts else []
        found += gateway.compared() if "gateway" in parts else []
        return found + (asked_of_command(Path(temporary, "command")) if "command" in parts else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="write docs/rest-differences.md")
    parser.add_argument("--only", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep what differs in a file")
    parser.add_argument("--found", type=Path, nargs="*", default=[], metavar="FILE", help="files of --save")
    given = parser.parse_args()
    if given.found:
        all_found = [Difference(**each) for file in given.found for each in json.loads(file.read_text("utf-8"))]
    else:
        all_found = differences(given.only)
    if given.save:
        given.save.write_text(json.dumps([asdict(each) for each in all_found]), encoding="utf-8")
    known, others = explained(all_found, REASONS)
    for reason, found in by_reason(known).items():
        if found:
            print(f"{len(found)} times: {reason.reason}")
    print("\n".join(str(each) for each in others) or "nothing else differs")
    if given.keep:
        asked = sum(len(all_asks(surface)) for surface in (REST, HISTORY, GATEWAY)) + len(list(steps()))
        PAGE.write_text(page(asked, by_reason(known)), encoding="utf-8")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
