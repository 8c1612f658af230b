"""Puts the documents of jobs that have ended where ``jobmanager.archive.fs.dir`` says: a history server finds them."""

from __future__ import annotations

import logging
import os
import threading

from millrace.cluster.history.archives import write_archive
from millrace.cluster.places import job_folder
from millrace.cluster.places.durable import write_file
from millrace.cluster.places.retention import KEPT_ELSEWHERE

LOOK_SECONDS = 1.0
PATIENCE_SECONDS = 30.0
"""between attempts, as long as the place can't be written to"""

_log = logging.getLogger(__name__)


class Keeper:
    """Looks after the archive of a cluster; what it could not write it writes later, if need be after a restart."""

    def __init__(self, cluster: str, directory: str) -> None:
        self._cluster = cluster
        self._directory = directory
        self._closed = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._keep_looking, name="millrace-archive", daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def _keep_looking(self) -> None:
        told = False
        while True:
            try:
                self.look()
                told, seconds = False, LOOK_SECONDS
            except Exception as error:  # of any file system, and of any store behind it
                if not told:
                    _log.warning("Jobs can't be archived in %s, which is tried again: %s", self._directory, error)
                told, seconds = True, PATIENCE_SECONDS
            if self._closed.wait(seconds):
                return

    def look(self) -> None:
        """Write what is not written yet."""
        for _, path in job_folder.archived(self._cluster):
            done = path.removesuffix(".json") + KEPT_ELSEWHERE
            if os.path.exists(done):
                continue
            document = job_folder.read_archive(path)
            if document is not None:
                write_archive(self._directory, document)
                write_file(done, b"")
