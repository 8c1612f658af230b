"""A history server over what a cluster of ours has archived."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.operating import Operated

from millrace.cluster import job_folder
from millrace.cluster.history import HistoryHolder, write_archive
from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.serving import RestServer
from millrace.cluster.rest.settings import Binding, RestSettings


@contextlib.contextmanager
def history_server(cluster: Operated, archives: Path) -> Iterator[str]:
    """Its address."""
    for _, path in job_folder.archived(cluster.folder):
        document = job_folder.read_archive(path)
        if document is not None:
            write_archive(str(archives), document)
    settings = RestSettings(history=True, refresh_interval=10_000, pages=archives / "none")
    server = RestServer(make_app(HistoryHolder([str(archives)]), None, settings), Binding(ports=[0]))
    server.start()
    try:
        yield server.address.replace("localhost", "127.0.0.1")
    finally:
        server.stop()
