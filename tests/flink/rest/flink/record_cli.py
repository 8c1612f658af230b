"""Records what Flink's command answers, on a session cluster of its own: five minutes.

python -m tests.flink.rest.flink.record_cli           # does it answer as is kept?
python -m tests.flink.rest.flink.record_cli --keep
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.flink.rest.cli.differences import differences
from tests.flink.rest.cli.running import run_all
from tests.flink.rest.cli.said import read, write
from tests.flink.rest.cli.steps import steps
from tests.flink.rest.cli.values import CommandValues
from tests.flink.rest.flink.command import FlinkCommand
from tests.flink.rest.flink.folder import CACHE, home, make_folder
from tests.flink.rest.flink.jobs import FlinkJobs
from tests.flink.rest.flink.servers import running
from tests.flink.rest.world import World

# Some of the jobs that are begun run until the end.
SLOTS = {"taskmanager.numberOfTaskSlots": "24"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep the answers")
    parser.add_argument("--folder", type=Path, help="where Flink has its files; a new temporary folder")
    given = parser.parse_args()
    # So that Flink's servers end, too, when this program is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    begun, found = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="flink-") as temporary:
        folder = make_folder(home(), (given.folder or Path(temporary)) / "cli", CACHE, SLOTS)
        with running(folder, "jobmanager", "taskmanager", "gateway"):
            world = World(f"http://localhost:{folder.rest_port}", FlinkJobs(folder))
            for step, said in run_all(steps(), FlinkCommand(folder), CommandValues(world)):
                found.append((step, said))
                print(f"{time.monotonic() - begun:6.1f} {said.code} {step.key}", flush=True)
    if given.keep:
        write(found)
        return 0
    kept = read()
    told = [str(each) for step, said in found for each in differences(step, kept.get(step.key), said)]
    print("\n".join(told) or "Flink answers as it did")
    return 1 if told else 0


if __name__ == "__main__":
    raise SystemExit(main())
