"""The run folder: which clusters and programs of this user run on this machine, and the tokens of their servers.

Each cluster or program has a folder there, which only this user can enter, with an ``entry.json`` that says where it is
reached. An entry whose process is dead counts as absent. The engine, the server and the SQL gateway of a cluster
describe themselves in files of the cluster's folder.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import signal
import time
from dataclasses import dataclass, field
from typing import TypeVar

from millrace.cluster.durable_files import decode, encode, is_unfinished, write_file
from millrace.util.folders import make_private
from millrace.util.system import is_alive, started_at, this_machine

RUN_DIRECTORY = "MILLRACE_RUN_DIR"
"""Environment variable with the path of another run folder."""
CLUSTER, SESSION, FOREGROUND, GATEWAY = "cluster", "session", "foreground", "sql-gateway"
KILL_SECONDS = 5.0
LOOK_SECONDS = 0.02
_ENTRY = "entry.json"
_TOKEN = "token"


@dataclass(frozen=True)
class Process:
    """A process, identified by pid and start time, so that a later process with its pid is not taken for it."""

    pid: int
    started: int
    """start time in clock ticks since the machine's boot, 0 where it is unknown"""
    machine: str

    @property
    def is_alive(self) -> bool:
        """Whether the process lives. False for processes of other machines, which may share the home folder."""
        return self.machine == this_machine() and is_alive(self.pid, self.started or None)


def this_process() -> Process:
    """The calling process."""
    return process_of(os.getpid())


def process_of(pid: int) -> Process:
    """A process of this machine."""
    return Process(pid, started_at(pid) or 0, this_machine())


def end(process: Process, seconds: float) -> bool:
    """End exactly this process: with a signal first, then with SIGKILL. Returns whether it has ended."""
    for number, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, KILL_SECONDS)):
        if not process.is_alive:
            return True
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return True
        until = time.monotonic() + patience
        while process.is_alive and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
    return not process.is_alive


@dataclass(frozen=True)
class Entry:
    """The description of a cluster, a program or a gateway in the run folder."""

    kind: str
    """``cluster``, ``session``, ``foreground`` or ``sql-gateway``"""
    process: Process
    """the supervisor of a cluster, the driver of a program, or the gateway itself"""
    address: str | None = None
    """URL of the REST API: ``http://127.0.0.1:8081``; None while there is none"""
    program: str | None = None
    """name of the program, for a program in the foreground"""
    began: int = 0
    """start time (ms since the epoch)"""
    background: bool = False
    """whether a gateway runs without a terminal"""


@dataclass(frozen=True)
class RunEntry:
    """An entry of the run folder, with its folder and token."""

    folder: str
    entry: Entry
    token: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        return os.path.basename(self.folder)

    @property
    def described(self) -> str:
        """The entry in words that tell it from the others."""
        place = self.entry.address or f"process {self.entry.process.pid}"
        return f"{place} ({self.entry.program or self.name})"


def run_folder() -> str:
    """The path of the run folder, which is made if it does not exist.

    :raises NotPrivateError: others can write to it.
    """
    path = os.environ.get(RUN_DIRECTORY) or os.path.join(os.path.expanduser("~"), ".millrace", "run")
    make_private(path)
    return path


def new_folder(name: str) -> str:
    """The folder for a cluster or program with this name, new or of an earlier run; it has a token."""
    path = os.path.join(run_folder(), name)
    make_private(path)
    if not os.path.exists(os.path.join(path, _TOKEN)):
        write_file(os.path.join(path, _TOKEN), secrets.token_urlsafe(24).encode())
    return path


def keep_token(folder: str, token: str) -> None:
    """Store a token that the user has chosen."""
    write_file(os.path.join(folder, _TOKEN), token.encode())


def read_token(folder: str) -> str:
    """Read the token that REST clients must send to change anything."""
    with open(os.path.join(folder, _TOKEN), encoding="ascii") as file:
        return file.read()


def register(folder: str, entry: Entry) -> None:
    """Write the entry of a folder, so that other processes find it."""
    write_file(os.path.join(folder, _ENTRY), encode(entry))


def withdraw(folder: str) -> None:
    """Remove the entry of a folder: other processes no longer find it."""
    try:
        os.unlink(os.path.join(folder, _ENTRY))
    except FileNotFoundError:
        return


def read_entry(folder: str) -> RunEntry | None:
    """Read the entry of a folder; None if its process is dead."""
    try:
        with open(os.path.join(folder, _ENTRY), "rb") as file:
            entry = decode(file.read(), Entry)
        return RunEntry(folder, entry, read_token(folder)) if entry.process.is_alive else None
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def find(kind: str | None = None) -> list[RunEntry]:
    """All living entries, the oldest first. Folders of dead programs and gateways are removed."""
    base = run_folder()
    found = []
    for name in sorted(os.listdir(base)):
        folder = os.path.join(base, name)
        if is_unfinished(name) or not os.path.isdir(folder):
            continue
        here = read_entry(folder)
        if here is None:
            _remove_dead_run(folder)
        elif kind in (None, here.entry.kind):
            found.append(here)
    return sorted(found, key=lambda each: each.entry.began)


def _remove_dead_run(folder: str) -> None:
    """Remove the folder of a dead program or gateway. The folders of clusters and sessions stay: they hold jobs and
    archives."""
    try:
        with open(os.path.join(folder, _ENTRY), "rb") as file:
            entry = decode(file.read(), Entry)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return  # it is just being made
    if entry.kind not in (CLUSTER, SESSION) and entry.process.machine == this_machine() and not entry.process.is_alive:
        shutil.rmtree(folder, ignore_errors=True)


# Engine, server and SQL gateway of a cluster, as they describe themselves

ENGINE_FILE, SERVER_FILE, GATEWAY_FILE = "engine.json", "server.json", "gateway.json"
CANNOT_LISTEN = 78
"""Exit code of a server whose port is taken or not allowed."""


_held: list[int] = []


def become(folder: str, name: str, description: EngineDescription | ServerDescription) -> bool:
    """Describe this process as the cluster's engine or server; returns False if it must not become that.

    That is so if another one is alive, or if the supervisor that started it has died meanwhile: the next supervisor
    does
    not know of a process that has not described itself yet, and starts its own.

    :param name: name of the file with the description.
    """
    lock = os.open(os.path.join(folder, f"{name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    supervisor = read_entry(folder)
    if supervisor is None or supervisor.entry.process.pid != os.getppid():
        os.close(lock)
        return False
    _held.append(lock)  # for life
    write_file(os.path.join(folder, name), encode(description))
    return True


@dataclass(frozen=True)
class EngineDescription:
    """The description of an engine that is ready."""

    process: Process
    application: str
    """Spark's application id"""
    master: str
    slots: int
    web_page: str | None
    """address of Spark's own pages"""
    log_file: str | None


@dataclass(frozen=True)
class ServerDescription:
    """The description of a server that is ready."""

    process: Process
    url: str


@dataclass(frozen=True)
class GatewayDescription:
    """The description of a cluster's SQL gateway that is ready."""

    process: Process


D = TypeVar("D", EngineDescription, ServerDescription, GatewayDescription)


def describe_engine(folder: str) -> EngineDescription | None:
    """The description of a cluster's engine; None if it is not ready, or dead."""
    return _described(folder, ENGINE_FILE, EngineDescription)


def describe_server(folder: str) -> ServerDescription | None:
    """The description of a cluster's server; None if it is not ready, or dead."""
    return _described(folder, SERVER_FILE, ServerDescription)


def describe_gateway(folder: str) -> GatewayDescription | None:
    """The description of a cluster's SQL gateway; None if it is not ready, or not started."""
    return _described(folder, GATEWAY_FILE, GatewayDescription)


def _described(folder: str, name: str, kind: type[D]) -> D | None:
    try:
        with open(os.path.join(folder, name), "rb") as file:
            found = decode(file.read(), kind)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return found if found.process.is_alive else None
