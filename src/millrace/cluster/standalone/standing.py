"""How master and workers of a cluster stand: for who asks, which may be a command of another process."""

from __future__ import annotations

import time
from dataclasses import dataclass

from millrace.cluster.standalone.agent import LOOK, Request
from millrace.cluster.standalone.layout import folder_of, names, read_layout
from millrace.cluster.standalone.orders import MASTER
from millrace.cluster.standalone.records import Record, read_record
from millrace.cluster.standalone.ssh import RemoteCall, cluster_id

LOOK_SECONDS = 20.0


@dataclass(frozen=True)
class Standing:
    """A master or a worker."""

    name: str
    host: str
    record: Record | None
    alive: bool
    error: str = ""
    """why nothing is known of it"""

    @property
    def text(self) -> str:
        """What people read."""
        if self.error:
            return f"nothing is known: {self.error}"
        if self.record is None or not self.alive:
            return "not there"
        began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.record.began / 1000))
        again = f", started {self.record.starts} times, last at {began}" if self.record.starts > 1 else ""
        return f"process {self.record.process.pid}{again}"


def standings(cluster: str) -> list[Standing]:
    """All that the layout names; machines are asked at the same time. Empty: the cluster has none of its own."""
    layout = read_layout(cluster)
    if layout is None:
        return []
    folder, id = folder_of(cluster), cluster_id(cluster)
    wanted = [(MASTER, layout.master), *zip(names(layout.workers), layout.workers, strict=True)]
    asked = {
        name: RemoteCall(place.target, Request(LOOK, id, name), layout.ssh_options, LOOK_SECONDS)
        for name, place in wanted
        if not place.here
    }
    found = []
    for name, place in wanted:
        if name in asked:
            answer = asked[name].wait()
            kept = read_record(folder, name)
            known = answer.record is not None and kept is not None and answer.record.process == kept.process
            found.append(Standing(name, place.target, answer.record, answer.alive and known, answer.error))
        else:
            record = read_record(folder, name)
            found.append(Standing(name, place.target, record, record is not None and record.process.is_alive))
    return found
