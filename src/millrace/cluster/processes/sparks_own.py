"""Spark's master and workers of a cluster as services that its supervisor keeps alive."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from millrace.cluster.places import job_folder
from millrace.cluster.places.run_folder import Process, end
from millrace.cluster.processes.remote_service import RemoteService, end_remote
from millrace.cluster.processes.service import Service
from millrace.cluster.standalone.daemon import command
from millrace.cluster.standalone.layout import folder_of, names, read_layout
from millrace.cluster.standalone.orders import MASTER, Logging, Order, orders, write_order
from millrace.cluster.standalone.records import read_record, recorded, remove_record
from millrace.cluster.standalone.ssh import cluster_id
from millrace.configuration.log_limits import log_limits
from millrace.util.private_folder import make_private

STOP_SECONDS = 30.0


def services(cluster: str, configuration: Mapping[str, str]) -> list[Service | RemoteService]:
    """Those of the cluster's layout, the master first; none if it has no Spark of its own."""
    layout = read_layout(cluster)
    if layout is None:
        return []
    folder, logs, id = folder_of(cluster), os.path.join(cluster, job_folder.LOGS), cluster_id(cluster)
    limits = log_limits(configuration)
    recovery = os.path.join(folder, "recovery")
    wanted = orders(layout, Logging(limits.file_bytes, limits.older_files), recovery)
    if not anything_left(cluster):
        # What a master remembers of an earlier cluster is gone with it, and so are its processes.
        shutil.rmtree(recovery, ignore_errors=True)
        for name in recorded(folder):
            remove_record(folder, name)
    make_private(recovery)
    _end_unwanted(folder, {MASTER, *names(layout.workers)})
    return [
        _service(folder, logs, each) if each.host is None else RemoteService(each, folder, id, layout.ssh_options)
        for each in wanted
    ]


def anything_left(cluster: str) -> bool:
    """Whether a process of Spark's lives that was started for the cluster, or may live on another machine."""
    folder = folder_of(cluster)
    records = [read_record(folder, name) for name in recorded(folder)]
    return any(each is not None and (each.host is not None or each.process.is_alive) for each in records)


def _service(folder: str, logs: str, order: Order) -> Service:
    write_order(folder, order)

    def find() -> Process | None:
        record = read_record(folder, order.name)
        return record.process if record is not None and record.process.is_alive else None

    log = os.path.join(logs, f"{order.name}.out")
    return Service(f"{order.name} of Spark", command(folder, order.name, logs), log, find)


def _end_unwanted(folder: str, wanted: set[str]) -> None:
    """Workers on this machine of a larger layout before."""
    for name in recorded(folder):
        record = read_record(folder, name)
        if name not in wanted and record is not None and record.host is None and end(record.process, STOP_SECONDS):
            remove_record(folder, name)


def end_left(cluster: str) -> list[str]:
    """End what is left of them without a supervisor; what that was."""
    layout = read_layout(cluster)
    folder, id = folder_of(cluster), cluster_id(cluster)
    ended = []
    for name in sorted(recorded(folder), key=lambda each: each == MASTER):
        record = read_record(folder, name)
        if record is None:
            continue
        if record.host is not None:
            error = end_remote(folder, name, id, "" if layout is None else layout.ssh_options, STOP_SECONDS)
            ended.append(f"{name} on {record.host}" + (f" (not ended: {error})" if error else ""))
            continue
        if record.process.is_alive and end(record.process, STOP_SECONDS):
            ended.append(name)
        remove_record(folder, name)
    return ended
