"""``conf/workers`` and ``conf/masters``: the machines of a cluster, a line each, as Flink's scripts read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WORKERS, MASTERS = "workers", "masters"
HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_TARGET = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._+\-]*@)?[A-Za-z0-9][A-Za-z0-9.\-_:%]*\Z")


class HostsError(ValueError):
    """A line that names no machine; the text says which."""


@dataclass(frozen=True)
class Host:
    """A machine: ``host`` or ``user@host``."""

    target: str

    @property
    def name(self) -> str:
        return self.target.rpartition("@")[2]

    @property
    def here(self) -> bool:
        """Whether it is this machine, so that nothing goes over ssh."""
        return self.target in HERE


@dataclass(frozen=True)
class MasterLine:
    """A line of ``conf/masters``: a machine, and the port of the web pages if it says one."""

    host: Host
    port: int | None = None


def parse_host(text: str, where: str = "") -> Host:
    """A machine that can be handed to ssh.

    :raises HostsError: it would be something else, an option of ssh for one.
    """
    if not _TARGET.match(text):
        raise HostsError(f"{where}{text!r} is no machine: expected is 'host' or 'user@host'")
    return Host(text)


def read_workers(directory: Path) -> list[Host] | None:
    """One worker a line; None: there is no such file."""
    lines = _lines(directory / WORKERS)
    return None if lines is None else [parse_host(text, where) for where, text in lines]


def read_masters(directory: Path) -> list[MasterLine] | None:
    """``host`` or ``host:webuiport`` a line; None: there is no such file."""
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
    """Lines without comments and what is empty."""
    for number, line in enumerate(text.splitlines(), 1):
        if meant := line.split("#", 1)[0].strip():
            yield f"{file}, line {number}: ", meant
