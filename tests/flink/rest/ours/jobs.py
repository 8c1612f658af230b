"""How a cluster of Millrace gets the jobs that requests are about, and what is uploaded to it."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.operating import Operated
from tests.flink.rest.programs import RUN_SQL, script


class OurJobs:
    """Jobs of a cluster, which its command submits."""

    def __init__(self, cluster: Operated, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._cluster = cluster
        self.folder = folder
        self.arguments = str(script("finished"))

    def submit(self, name: str) -> str:
        return self._cluster.detached("--pyflink", "-py", str(RUN_SQL), str(script(name)))

    def file(self, name: str) -> tuple[str, bytes]:
        if name == "program":
            return RUN_SQL.name, RUN_SQL.read_bytes()
        return ("broken.zip", b"no archive") if name == "broken" else ("notes.txt", b"some text")
