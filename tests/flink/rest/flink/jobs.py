"""How Flink gets the jobs that requests are about, and what is uploaded to it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from tests.flink.rest import programs
from tests.flink.rest.flink.folder import FlinkFolder
from tests.flink.rest.flink.submit import submit

MANIFEST = "Manifest-Version: 1.0\nMain-Class: org.apache.flink.client.python.PythonDriver\n"
"""all that a jar needs in which Flink finds a program in Python"""


class FlinkJobs:
    """Jobs of a session cluster with a gateway, which submits them."""

    def __init__(self, folder: FlinkFolder) -> None:
        self._folder = folder

    def submit(self, name: str) -> str:
        return submit(f"http://localhost:{self._folder.gateway_port}", name)

    def file(self, name: str) -> tuple[str, bytes]:
        if name == "program":
            return "program.jar", _jar(MANIFEST)
        return ("broken.jar", b"not a jar") if name == "broken" else ("notes.txt", b"some text")

    @property
    def arguments(self) -> str:
        return f"-py,{programs.RUN_SQL},{programs.script('finished')}"

    @property
    def folder(self) -> Path:
        return self._folder.savepoints


def _jar(manifest: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", manifest)
    return content.getvalue()
