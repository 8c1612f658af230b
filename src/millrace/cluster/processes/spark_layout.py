"""The layout of a cluster's own Spark: its master and workers, their machines, and the resources that they offer.

The machines come from ``conf/workers`` and ``conf/masters``, a line each, as Flink's scripts read them. The layout file
holds the secret of the cluster, so only this user reads it.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millrace.cluster.durable_files import decode, encode, write_file
from millrace.cluster.rest.settings import is_loopback
from millrace.common.configuration import to_bytes_count, to_int
from millrace.configuration.spark_settings import Target, spark_settings
from millrace.spark.standalone_daemons import CRYPTO, SECRET, as_file, driver_properties
from millrace.util.folders import make_private

# Machines

WORKERS, MASTERS = "workers", "masters"
HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_TARGET = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._+\-]*@)?[A-Za-z0-9][A-Za-z0-9.\-_:%]*\Z")


class HostsError(ValueError):
    """A line of a hosts file names no machine; the text says which."""


@dataclass(frozen=True)
class Host:
    """A machine: ``host`` or ``user@host``."""

    target: str

    @property
    def name(self) -> str:
        return self.target.rpartition("@")[2]

    @property
    def here(self) -> bool:
        """Whether the host is this machine, which needs no ssh."""
        return self.target in HERE


@dataclass(frozen=True)
class MasterLine:
    """A line of ``conf/masters``: a machine, and the port of its web pages if it is given."""

    host: Host
    port: int | None = None


def parse_host(text: str, where: str = "") -> Host:
    """Parse the name of a machine for ssh.

    :raises HostsError: the text is not a machine, but an option of ssh for example.
    """
    if not _TARGET.match(text):
        raise HostsError(f"{where}{text!r} is no machine: expected is 'host' or 'user@host'")
    return Host(text)


def read_workers(directory: Path) -> list[Host] | None:
    """Read ``conf/workers``: one worker a line; None if there is no such file."""
    lines = _lines(directory / WORKERS)
    return None if lines is None else [parse_host(text, where) for where, text in lines]


def read_masters(directory: Path) -> list[MasterLine] | None:
    """Read ``conf/masters``: ``host`` or ``host:webuiport`` a line; None if there is no such file."""
    lines = _lines(directory / MASTERS)
    return None if lines is None else [_master(text, where) for where, text in lines]


def _master(text: str, where: str) -> MasterLine:
    name, colon, port = text.rpartition(":")
    if not colon or ":" in name:  # an address of IPv6 has no port here, as in Flink
        return MasterLine(parse_host(text, where))
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise HostsError(f"{where}{text!r} is no 'host:webuiport': ports go from 1 to 65535")
    return MasterLine(parse_host(name, where), int(port))


def _lines(file: Path) -> list[tuple[str, str]] | None:
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return None
    return list(_meant(file, text))


def _meant(file: Path, text: str) -> Iterator[tuple[str, str]]:
    """The lines of a file without comments and empty lines."""
    for number, line in enumerate(text.splitlines(), 1):
        if meant := line.split("#", 1)[0].strip():
            yield f"{file}, line {number}: ", meant


# The layout

FOLDER = "spark"
ADDRESS = "jobmanager.rpc.address"
SSH_OPTIONS = "env.ssh.opts"
SLOTS = "taskmanager.numberOfTaskSlots"
STATE = "millrace.state.directory"
PORTS = range(7077, 7177)
"""ports of a master that only this machine reaches: the first free one is used"""
BEYOND_PORT = 7077
"""port of a master that other machines reach, unless $SPARK_MASTER_PORT is set"""
PORT_VARIABLE = "SPARK_MASTER_PORT"
_FILE = "layout.json"
_LOCAL = "127.0.0.1"


class LayoutError(ValueError):
    """The layout is impossible; the text says what to do instead."""


@dataclass(frozen=True)
class Layout:
    """A master and workers of one size."""

    address: str
    """address under which workers reach the master"""
    port: int
    master: Host
    workers: tuple[Host, ...]
    cores: int
    """slots of each worker"""
    megabytes: int
    """memory of each worker for executors (MiB)"""
    secret: str = field(repr=False)
    ssh_options: str = ""
    encrypted: bool = False
    """whether network traffic is encrypted"""

    @property
    def url(self) -> str:
        return f"spark://{self.address}:{self.port}"

    @property
    def slots(self) -> int:
        return self.cores * len(self.workers)

    @property
    def away(self) -> tuple[Host, ...]:
        """The other machines of the layout."""
        return tuple(each for each in (self.master, *self.workers) if not each.here)


@dataclass(frozen=True)
class Hosts:
    """The machines that the user asks for."""

    workers: tuple[Host, ...]
    master: MasterLine


def find_hosts(directory: Path | None, workers: int | None) -> Hosts | None:
    """The machines that are configured: by a number of workers on this machine, or by the files of the configuration;
    None: none are.

    :raises HostsError: a line that names no machine.
    """
    masters = None if directory is None else read_masters(directory)
    listed = None if directory is None else read_workers(directory)
    if workers is None and not listed and not masters:
        return None
    if masters is not None and len(masters) > 1:
        names = ", ".join(each.host.target for each in masters[1:])
        raise LayoutError(f"conf/masters: there is one master; nothing would run on {names}: take these lines out")
    here = Host("localhost")
    chosen = [here] * workers if workers is not None else listed or [here]
    return Hosts(tuple(chosen), masters[0] if masters else MasterLine(here))


def plan(hosts: Hosts, configuration: Mapping[str, str]) -> Layout:
    """Make the layout for machines.

    :raises LayoutError: other machines would have to reach a master that only this machine reaches.
    """
    address = _address(hosts, configuration)
    cores = to_int(configuration.get(SLOTS, "1"))
    if cores < 1:
        raise LayoutError(f"{SLOTS} is {cores}: a worker needs a slot at least")
    settings = _sparks(configuration)
    return Layout(
        address,
        _port(address),
        hosts.master.host,
        hosts.workers,
        cores,
        _megabytes(settings, cores),
        configuration.get(SECRET) or secrets.token_urlsafe(32),
        configuration.get(SSH_OPTIONS, ""),
        settings.get(CRYPTO, str(not is_loopback(address))).lower() == "true",
    )


def _address(hosts: Hosts, configuration: Mapping[str, str]) -> str:
    """The address under which the master is found. It is reachable from other machines only if that is configured."""
    away = [each for each in (hosts.master.host, *hosts.workers) if not each.here]
    said = configuration.get(ADDRESS, "").strip()
    if not hosts.master.host.here:
        if len(away) <= len(hosts.workers):
            raise LayoutError(
                f"a worker on localhost is not found by a master on {hosts.master.host.name}: name this machine in "
                "conf/workers as that one knows it"
            )
        return hosts.master.host.name
    if said and not is_loopback(said):
        return said
    if away:
        raise LayoutError(
            f"workers on {', '.join(dict.fromkeys(each.name for each in away))} can't reach a master that listens on "
            f"{_LOCAL}: set {ADDRESS} to the name or address under which they reach this machine"
        )
    return _LOCAL


def _port(address: str) -> int:
    named = os.environ.get(PORT_VARIABLE, "")
    if named.isdecimal():
        return int(named)
    if not is_loopback(address):
        return BEYOND_PORT
    for port in PORTS:
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind((address, port))
            except OSError:
                continue
            return port
    raise LayoutError(f"no port from {PORTS[0]} to {PORTS[-1]} is free for Spark's master: set ${PORT_VARIABLE}")


def _sparks(configuration: Mapping[str, str]) -> dict[str, str]:
    """Spark's options for a driver on this cluster; Spark's own keys override Flink's."""
    meant = spark_settings(configuration, Target("spark://"))
    return {**meant, **{key: value for key, value in configuration.items() if key.startswith("spark.")}}


def _megabytes(settings: Mapping[str, str], cores: int) -> int:
    """Memory that the executors of a worker need (MiB): Spark requests their heap only."""
    executors = max(cores // max(to_int(settings.get("spark.executor.cores", str(cores))), 1), 1)
    text = settings.get("spark.executor.memory", "1g")
    size = to_bytes_count(f"{text} mb" if text.strip().isdecimal() else text)
    return executors * (size >> 20)


def folder_of(cluster: str) -> str:
    """The folder of all that has to do with Spark's master and workers."""
    return os.path.join(cluster, FOLDER)


def state_folder(cluster: str) -> str:
    """Folder for task state between epochs, used if all workers are on this machine and no other folder is
    configured."""
    path = os.path.join(cluster, "state")
    make_private(path)
    return path


def write_layout(cluster: str, layout: Layout) -> None:
    """Write the layout for the cluster's processes. It contains the secret, so only this user can read it."""
    make_private(folder_of(cluster))
    write_file(os.path.join(folder_of(cluster), _FILE), encode(layout))


def read_layout(cluster: str) -> Layout | None:
    """Read the layout; None if the cluster has no Spark of its own."""
    try:
        with open(os.path.join(folder_of(cluster), _FILE), "rb") as file:
            return decode(file.read(), Layout)
    except FileNotFoundError:
        return None


def forget_layout(cluster: str) -> None:
    """Remove the layout: the cluster has no Spark of its own any more."""
    try:
        os.unlink(os.path.join(folder_of(cluster), _FILE))
    except FileNotFoundError:
        return


def names(workers: Sequence[Host]) -> list[str]:
    """The names of a number of workers."""
    return [f"worker-{number}" for number in range(1, len(workers) + 1)]


# The driver

SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
LOCAL_ADDRESS = "SPARK_LOCAL_IP"
MASTER = "millrace.master"


def driver_of(layout: Layout, cluster: str, configuration: Mapping[str, str]) -> dict[str, str]:
    """The configuration of the driver; the environment of this process, which Spark's JVM will have, gets the rest.

    The secret goes through a file that only this user reads: PySpark would show a setting on a command line.
    """
    file = os.path.join(folder_of(cluster), "driver.conf")
    write_file(file, as_file(driver_properties(layout.secret, layout.encrypted)).encode())
    os.environ[SUBMIT_ARGUMENTS] = f"--properties-file {shlex.quote(file)} --load-spark-defaults pyspark-shell"
    found = {key: value for key, value in configuration.items() if key not in (SECRET, CRYPTO, "spark.authenticate")}
    found[MASTER] = layout.url
    if layout.master.here:
        os.environ[LOCAL_ADDRESS] = layout.address
        found.setdefault("spark.driver.host", layout.address)
        found.setdefault("spark.driver.bindAddress", layout.address)
    return found
