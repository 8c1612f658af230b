"""Orders: what is to be started under which name, as a file that the process reads which becomes it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from millrace.cluster.documents.codec import decode, encode
from millrace.cluster.places.durable import write_file
from millrace.cluster.standalone.layout import Layout, names
from millrace.spark.standalone.daemons import Daemon, as_file, master, properties, worker

MASTER = "master"
_SUFFIX = ".order.json"


@dataclass(frozen=True)
class Logging:
    """How much of the logs is kept."""

    file_bytes: int
    older_files: int


@dataclass(frozen=True)
class Order:
    """One process to be."""

    name: str
    daemon: Daemon
    host: str | None
    """ssh's name of its machine; None: this one"""
    settings: str
    """a properties file; secrets are in it"""
    logging: Logging
    waits_for: tuple[str, int] | None = None
    """an address that must listen before"""


def orders(layout: Layout, logging: Logging, recovery: str) -> list[Order]:
    """All processes of a layout, the master first.

    :param recovery: where a master on this machine remembers who was there.
    """
    where = (layout.address, layout.port)

    def settings(remembers: bool) -> str:
        found = properties(
            layout.secret,
            recovery if remembers else None,
            layout.encrypted,
            logging.file_bytes,
            logging.older_files,
        )
        return as_file(found)

    host = None if layout.master.here else layout.master.target
    found = [Order(MASTER, master(*where), host, settings(layout.master.here), logging)]
    for name, place in zip(names(layout.workers), layout.workers, strict=True):
        # A worker of this machine is found where its master is, if that is here.
        here = layout.address if layout.master.here else place.name
        daemon = worker(here if place.here else place.name, layout.cores, layout.megabytes, layout.url)
        found.append(Order(name, daemon, None if place.here else place.target, settings(False), logging, where))
    return found


def write_order(folder: str, order: Order) -> None:
    """Only this user reads it."""
    write_file(os.path.join(folder, f"{order.name}{_SUFFIX}"), encode(order))


def read_order(folder: str, name: str) -> Order:
    with open(os.path.join(folder, f"{name}{_SUFFIX}"), "rb") as file:
        return decode(file.read(), Order)
