"""Asks a server what Flink was asked, and lists what it answers otherwise.

A test of a server of ours calls ``compare`` with a ``World`` over its own ``Jobs``. By hand, with jobs of that server:

    python -m tests.flink.rest.compare --rest http://localhost:8081 --job running=ID --job finished=ID ...
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tests.flink.rest.answer import FOLDER, read
from tests.flink.rest.ask import SURFACES, Ask
from tests.flink.rest.asks import all_asks
from tests.flink.rest.differences import Difference, differences
from tests.flink.rest.known import explained
from tests.flink.rest.programs import RUN_SQL, script
from tests.flink.rest.running import Values, ask_all
from tests.flink.rest.world import NoValue, World


def compare(
    bases: Mapping[str, str],
    values: Values,
    asks: Iterable[Ask] | None = None,
    folder: Path = FOLDER,
    watch: Callable[[Ask], None] = lambda ask: None,
) -> list[Difference]:
    """All differences between the servers at ``bases`` (surface -> URL) and what was recorded."""
    recorded = {key: answer for surface in bases for key, answer in read(surface, folder).items()}
    found: list[Difference] = []
    for ask, answer in ask_all(all_asks() if asks is None else asks, bases, values):
        watch(ask)
        found += differences(ask, recorded.get(ask.key), answer)
    return found


class GivenJobs:
    """Jobs that run already, by name; others cannot be had."""

    def __init__(self, jobs: Mapping[str, str], folder: Path) -> None:
        self._jobs = dict(jobs)
        self.folder = folder
        self.arguments = str(script("finished"))

    def submit(self, name: str) -> str:
        if name not in self._jobs:
            raise NoValue(f"job called {name}: give --job {name}=ID")
        return self._jobs[name]

    def file(self, name: str) -> tuple[str, bytes]:
        if name == "program":
            return RUN_SQL.name, RUN_SQL.read_bytes()
        return ("broken.zip", b"no archive") if name == "broken" else ("notes.txt", b"some text")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for surface in SURFACES:
        parser.add_argument(f"--{surface}", metavar="URL", help="a server to ask")
    parser.add_argument("--job", action="append", default=[], metavar="NAME=ID", help="a job in a state")
    given = parser.parse_args()
    bases = {surface: getattr(given, surface) for surface in SURFACES if getattr(given, surface)}
    if not bases:
        parser.error("no server to ask")
    jobs = dict(each.split("=", 1) for each in given.job)
    with tempfile.TemporaryDirectory() as folder:
        world = World(bases.get("rest", next(iter(bases.values()))), GivenJobs(jobs, Path(folder)))
        known, others = explained(compare(bases, world))
    for reason, found in known.items():
        print(f"{len(found)} times: {reason.reason}")
    print("\n".join(str(each) for each in others) or "nothing else differs")
    return 1 if others else 0


if __name__ == "__main__":
    raise SystemExit(main())
