"""Flink's own command, against a cluster of ours."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.flink.rest.cli.said import Done
from tests.flink.rest.flink.folder import FlinkFolder

SECONDS = 180
CLASS = "org.apache.flink.client.cli.CliFrontend"


class FlinkCommand:
    """What `bin/flink` starts in the end. The script itself starts two more virtual machines first, to read options."""

    def __init__(self, folder: FlinkFolder) -> None:
        self._folder = folder
        java = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if os.environ.get("JAVA_HOME") else "java"
        config = (folder.root / "conf" / "config.yaml").read_text("utf-8").splitlines()
        options = next(line for line in config if line.startswith("env.java.opts.all: ")).split()[1:]
        logging = f"-Dlog4j.configurationFile={(folder.root / 'conf' / 'log4j-cli.properties').as_uri()}"
        log = f"-Dlog.file={folder.root / 'log' / 'client.log'}"
        jars = f"{folder.root / 'lib'}/*"
        # Compiled once and only a little: a command ends before more would pay.
        self._start = (str(java), "-Xmx256m", "-XX:TieredStopAtLevel=1", *options, log, logging, "-cp", jars, CLASS)

    def __call__(self, args: tuple[str, ...]) -> Done:
        done = subprocess.run(
            [*self._start, *args],
            env=self._folder.environment,
            cwd=self._folder.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return Done(done.returncode, done.stdout, done.stderr)
