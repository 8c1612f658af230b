"""Flink's own command, against a cluster of ours."""

from __future__ import annotations

import subprocess

from tests.flink.rest.cli.said import Done
from tests.flink.rest.flink.folder import FlinkFolder

SECONDS = 180


class FlinkCommand:
    """`flink` with the configuration of a folder."""

    def __init__(self, folder: FlinkFolder) -> None:
        self._folder = folder

    def __call__(self, args: tuple[str, ...]) -> Done:
        done = subprocess.run(
            ["bash", str(self._folder.home / "bin" / "flink"), *args],
            env=self._folder.environment,
            cwd=self._folder.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return Done(done.returncode, done.stdout, done.stderr)
