"""Another user of the machine, who has no secret and tries what listens here."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SECONDS = 60
Attempt = tuple[int, str, tuple[str, ...]]
"""a port, a call of ``strange_calls``, and what it takes"""


def stranger() -> tuple[int, int]:
    """User and group of somebody else. Only root can become him: elsewhere the test is left out, in CI it fails."""
    if os.getuid() == 0:
        other = pwd.getpwnam("nobody")
        return other.pw_uid, other.pw_gid
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail("only root can start a process of another user: run the tests in CI as root", pytrace=False)
    pytest.skip("only root can start a process of another user")


def as_stranger(*attempts: Attempt) -> list[dict[str, Any]]:
    """What another user gets from ports: ``got`` what was not for him, else ``refused`` with the words of it."""
    script = Path(__file__).with_name("strange_calls.py")
    done = subprocess.run(
        [sys.executable, "-I", script, *map(str, stranger())],
        input=json.dumps(attempts), capture_output=True, text=True, timeout=SECONDS, cwd="/", env={}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def ports_of(*processes: int) -> dict[int, set[str]]:
    """The TCP ports on which processes of this user listen, with the addresses, as the kernel has them."""
    inodes = {link.rpartition("[")[2].rstrip("]") for pid in processes for link in _links(pid) if "socket:" in link}
    found: dict[int, set[str]] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                address, _, port = words[1].partition(":")
                found.setdefault(int(port, 16), set()).add(address)
    return found


def _links(pid: int) -> list[str]:
    folder = f"/proc/{pid}/fd"
    found = []
    for name in os.listdir(folder):
        try:
            found.append(os.readlink(f"{folder}/{name}"))
        except OSError:
            continue  # closed meanwhile
    return found


def is_loopback(address: str) -> bool:
    """Whether an address in the kernel's words is this machine's own: 127.0.0.1, in both families, or ::1."""
    return address.endswith("0100007F") or address == "00000000000000000000000001000000"


def below(process: int) -> list[int]:
    """A process and all that it has started."""
    found, new = [process], [process]
    while new:
        pid = new.pop()
        children = [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in _words(path)]
        new += children
        found += children
    return found


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []  # the thread has ended
