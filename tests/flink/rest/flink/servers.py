"""Flink's servers: started by its own scripts as daemons, waited for, and stopped by the pids that they wrote."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

from tests.flink.rest.flink.folder import FlinkFolder

SCRIPTS = {
    "jobmanager": "jobmanager.sh",
    "taskmanager": "taskmanager.sh",
    "gateway": "sql-gateway.sh",
    "history": "historyserver.sh",
}
START_SECONDS = 120


@contextlib.contextmanager
def running(folder: FlinkFolder, *servers: str) -> Iterator[None]:
    """``servers`` as they answer; stopped at the end, whatever happens."""
    try:
        for server in servers:
            start(folder, server)
        yield
    finally:
        stop_all(folder)


def start(folder: FlinkFolder, server: str) -> None:
    """Starts a server and waits until it answers."""
    script = folder.home / "bin" / SCRIPTS[server]
    done = subprocess.run(
        ["bash", str(script), "start"],
        env=folder.environment,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
    )
    if done.returncode:
        raise RuntimeError(f"{script} answers {done.returncode}: {done.stdout}{done.stderr}")
    wait_for(f"{server} to answer", READY[server], folder)


def stop_all(folder: FlinkFolder) -> None:
    """Ends every process that wrote its pid into the folder, and waits until it is gone."""
    pids = [int(pid) for file in (folder.root / "pid").glob("*.pid") for pid in file.read_text().split()]
    for pid in reversed(pids):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + 20
    for pid in pids:
        while _alive(pid):
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def get(url: str) -> object:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.loads(answer.read())


def wait_for(what: str, done: Callable[[FlinkFolder], bool], folder: FlinkFolder) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError, ValueError):
            if done(folder):
                return
        if time.monotonic() > end:
            raise TimeoutError(f"waited {START_SECONDS} s for {what}; logs are in {folder.root / 'log'}")
        time.sleep(0.2)


def _cluster_has_a_worker(folder: FlinkFolder) -> bool:
    found = get(f"http://localhost:{folder.rest_port}/taskmanagers")
    return isinstance(found, dict) and bool(found["taskmanagers"])


READY: dict[str, Callable[[FlinkFolder], bool]] = {
    "jobmanager": lambda folder: bool(get(f"http://localhost:{folder.rest_port}/overview")),
    "taskmanager": _cluster_has_a_worker,
    "gateway": lambda folder: bool(get(f"http://localhost:{folder.gateway_port}/info")),
    "history": lambda folder: bool(get(f"http://localhost:{folder.history_port}/config")),
}
