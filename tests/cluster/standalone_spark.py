"""A standalone cluster of Spark on this machine, from PySpark's own jars: a master and some workers."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pyspark

HOME = os.path.dirname(pyspark.__file__)
START_SECONDS = 90.0


class Standalone:
    """To be used in a ``with``; ``master`` is its address."""

    def __init__(self, folder: Path, workers: int = 3, cores: int = 2, memory: str = "1g") -> None:
        self._folder = folder
        self._wanted = (workers, cores, memory)
        self.master_process: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.master = ""
        self.port = 0

    def __enter__(self) -> Standalone:
        self._folder.mkdir(parents=True, exist_ok=True)
        workers, cores, memory = self._wanted
        self.start_master()
        for number in range(workers):
            arguments = ("--cores", str(cores), "--memory", memory, "--webui-port", "0", "--host", "127.0.0.1")
            place = ("--work-dir", str(self._folder / f"work-{number}"), self.master)
            self.workers.append(self._start(f"worker-{number}", "worker.Worker", *arguments, *place))
        for number in range(workers):
            self._find(f"worker-{number}", r"Successfully registered with master")
        return self

    def start_master(self) -> None:
        """At the same address, if there was one before."""
        arguments = ("--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0")
        with open(self._log("master"), "w"):
            pass
        self.master_process = self._start("master", "master.Master", *arguments)
        self.master = self._find("master", r"Starting Spark master at (spark://\S+)")
        self.port = int(self.master.rpartition(":")[2])
        self._find("master", r"I have been elected leader")

    def __exit__(self, *exception: object) -> None:
        for process in (*self.workers, self.master_process):
            if process is not None:
                process.kill()
                process.wait()

    def _recovery(self) -> str:
        """A master that is started again remembers its applications; without this it lets all executors be killed."""
        folder = self._folder / "recovery"
        return f"-Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory={folder}"

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _start(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "SPARK_HOME": HOME,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {self._recovery()}",
        }
        # Spark's own script: it knows what executors need besides, and becomes the process that it starts.
        command = [f"{HOME}/bin/spark-class", f"org.apache.spark.deploy.{main}", *arguments]
        with open(self._log(name), "ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def _find(self, name: str, pattern: str) -> str:
        """What the log of a process says."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            found = re.search(pattern, self._log(name).read_text(errors="replace"))
            if found:
                return found[found.lastindex or 0]
            time.sleep(0.1)
        raise TimeoutError(f"{name} did not say {pattern!r} within {START_SECONDS} s: {self._log(name).read_text()}")
