"""Records what a real Flink answers. Runs in an environment that has apache-flink (`make flink`).

    python -m tests.flink.rest.record                 # are the answers still those that are kept?
    python -m tests.flink.rest.record --keep          # keep them
    python -m tests.flink.rest.record --widen         # after that: what is another one each time counts as such
    python -m tests.flink.rest.record --only gateway  # those of one server

A quarter of an hour. The servers listen on loopback, have 2.5 GB at most together and end with the recording.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.flink.rest.answer import NOT_ASKED, Answer, read, widened, write
from tests.flink.rest.ask import ADAPTIVE, GATEWAY, HISTORY, REST, SURFACES, Ask
from tests.flink.rest.asks import all_asks
from tests.flink.rest.differences import differences
from tests.flink.rest.flink.folder import CACHE, FlinkFolder, home, make_folder
from tests.flink.rest.flink.jobs import FlinkJobs
from tests.flink.rest.flink.servers import running
from tests.flink.rest.running import NOT_KEPT, ask_all
from tests.flink.rest.world import World

# What is off by default, for the cluster that has it all.
ALL_ON = {
    "jobmanager.scheduler": "adaptive",
    "rest.flamegraph.enabled": "true",
    "rest.profiling.enabled": "true",
    "jobmanager.adaptive-scheduler.rescale-history.size": "10",
    "web.adaptive-scheduler.rescale-history.size": "10",
}


def record(root: Path, surfaces: Sequence[str]) -> Iterator[tuple[Ask, Answer]]:
    """Starts Flink's servers, sends all requests, and stops the servers."""
    if set(surfaces) - {ADAPTIVE}:
        # The latest checkpoints are asked for by id, a while after they were taken.
        folder = make_folder(home(), root / "default", CACHE, {"web.checkpoints.history": "1000"})
        with running(folder, "jobmanager", "taskmanager", "gateway", "history"):
            bases = {each: base for each, base in addresses(folder).items() if each in surfaces}
            yield from ask_all(all_asks(), bases, World(addresses(folder)[REST], FlinkJobs(folder)))
    if ADAPTIVE in surfaces:
        folder = make_folder(home(), root / "adaptive", CACHE, ALL_ON)
        with running(folder, "jobmanager", "taskmanager", "gateway"):
            base = addresses(folder)[REST]
            yield from ask_all(all_asks(ADAPTIVE), {ADAPTIVE: base}, World(base, FlinkJobs(folder)))


def addresses(folder: FlinkFolder) -> dict[str, str]:
    ports = {REST: folder.rest_port, GATEWAY: folder.gateway_port, HISTORY: folder.history_port}
    return {surface: f"http://localhost:{port}" for surface, port in ports.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep the answers")
    parser.add_argument("--widen", action="store_true", help="keep what is kept and what is answered now")
    parser.add_argument("--only", nargs="*", default=list(SURFACES), choices=SURFACES)
    parser.add_argument("--folder", type=Path, help="where Flink has its files; a new temporary folder")
    given = parser.parse_args()
    # So that Flink's servers end, too, when this program is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    begun = time.monotonic()
    found = []
    with tempfile.TemporaryDirectory(prefix="flink-") as temporary:
        for ask, answer in record(given.folder or Path(temporary), given.only):
            # Flink may refuse to begin what a later request asks about; nothing else may be missing.
            if answer.status == NOT_ASKED and not answer.why.startswith(NOT_KEPT):
                raise RuntimeError(f"{ask.key}: {answer.why}")
            found.append((ask, answer))
            told = f"  not asked, {answer.why}" if answer.status == NOT_ASKED else ""
            print(f"{time.monotonic() - begun:6.1f} {answer.status} {ask.key[:150]}{told}", flush=True)
    print(Counter((ask.surface, answer.status) for ask, answer in found))
    if given.widen:
        known = {key: answer for surface in given.only for key, answer in read(surface).items()}
        found = [(ask, widened(known[ask.key], answer)) for ask, answer in found]
    if given.keep or given.widen:
        for surface in given.only:
            write(surface, found)
        return 0
    kept = {key: answer for surface in given.only for key, answer in read(surface).items()}
    changed = [str(each) for ask, answer in found for each in differences(ask, kept.get(ask.key), answer)]
    print("\n".join(changed) or "Flink answers as it did")
    return 1 if changed else 0


if __name__ == "__main__":
    raise SystemExit(main())
