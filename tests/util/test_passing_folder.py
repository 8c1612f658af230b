"""Temporary folders: gone with their process, or when the next one starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from millrace.util.folders import new_folder, remove_left
from millrace.util.system import started_at

CODE = """
import os, signal, sys
from millrace.util.folders import scratch_folder
open(os.path.join(scratch_folder(), "blockmgr"), "w").close()
if os.fork() == 0:
    sys.exit()
os.wait()
print(len(os.listdir(os.environ["TMPDIR"])), flush=True)
if len(sys.argv) > 1:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def run(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-c", CODE, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False).stdout


def test_it_goes_with_its_process_or_with_the_next_start() -> None:
    # Not pytest's: that is too long for the sockets in it.
    folder = Path(f"/tmp/mrs{os.getpid()}")
    folder.mkdir()
    try:
        assert run(folder) == "1\n", "a fork that ends must leave it"
        assert list(folder.iterdir()) == []
        run(folder, "die")
        assert len(list(folder.iterdir())) == 1
        assert run(folder) == "1\n"
        assert list(folder.iterdir()) == []
    finally:
        for each in folder.iterdir():
            (each / "blockmgr").unlink()
            each.rmdir()
        folder.rmdir()


def test_folders_of_living_processes_and_of_others_stay(tmp_path: Path) -> None:
    mine = f"millrace-spark-{os.getpid()}-{started_at(os.getpid())}"
    state = Path(new_folder("state", str(tmp_path))).name
    dead = f"{2**22 + 1}-7"
    for name in (mine, "millrace-spark-notes", f"millrace-spark-{dead}", f"millrace-state-{dead}-ab_1"):
        (tmp_path / name).mkdir()
    remove_left(str(tmp_path))
    assert {each.name for each in tmp_path.iterdir()} == {mine, state, "millrace-spark-notes"}
