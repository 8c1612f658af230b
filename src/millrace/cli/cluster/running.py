"""The clusters that run for this user on this machine; importing this costs next to nothing."""

from __future__ import annotations

from millrace.cluster.places import run_folder
from millrace.cluster.places.descriptions import describe_server
from millrace.cluster.places.run_folder import Entry, Found


def clusters() -> list[Found]:
    """Those that live."""
    found = []
    for each in run_folder.find(run_folder.CLUSTER):
        server = describe_server(each.folder)
        entry = each.entry
        shown = Entry(entry.kind, entry.process, server.url if server else None, entry.program, entry.began)
        found.append(Found(each.folder, shown, each.token))
    return found
