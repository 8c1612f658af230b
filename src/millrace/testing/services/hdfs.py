"""HDFS: a NameNode and a DataNode of Hadoop's own, from the jars beside PySpark."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from millrace.testing.services.jars import jars, java
from millrace.testing.services.ports import free_ports
from millrace.testing.services.problems import ServiceUnavailable
from millrace.testing.services.server import Server

VERSION = "3.5.0"
READY_SECONDS = 180.0
FORMAT_SECONDS = 120.0
_SMALL = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_OPEN = [f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in ("lang", "util", "io")]
_LOGGING = """status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c: %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


def fetch_hdfs() -> Path:
    """The folder with its jars. :raises ServiceUnavailable: they cannot be fetched."""
    bouncy = [f"org.bouncycastle:{each}-jdk18on:1.82" for each in ("bcprov", "bcpkix")]
    return jars("hadoop", f"org.apache.hadoop:hadoop-client-minicluster:{VERSION}", *bouncy)


class Hdfs:
    """One NameNode and one DataNode on loopback; started by ``start`` or ``with``. Every user may do everything."""

    def __init__(self) -> None:
        self._ports = free_ports(5)
        self._folder: Path | None = None
        self.name_node: Server | None = None
        self.data_node: Server | None = None

    @property
    def url(self) -> str:
        """As Hadoop's clients take it."""
        return f"hdfs://127.0.0.1:{self._ports[0]}"

    @property
    def web_port(self) -> int:
        """Where WebHDFS is asked."""
        return self._ports[1]

    def configuration(self) -> dict[str, str]:
        """Keys for a program that uses it: the ports are not the usual ones."""
        return {"flink.hadoop.dfs.namenode.http-address": f"127.0.0.1:{self.web_port}"}

    def start(self) -> Hdfs:
        """:raises ServiceUnavailable: it cannot be had here."""
        self._folder = Path(tempfile.mkdtemp(prefix="millrace-hdfs-"))
        try:
            self._start(self._folder)
        except BaseException:
            self.stop()
            raise
        return self

    def _start(self, folder: Path) -> None:
        program, spec = java(), find_spec("pyspark")
        if spec is None or spec.origin is None:
            raise ServiceUnavailable("HDFS: PySpark, whose jars it needs, is not installed")
        self._write_settings(folder)
        classes = f"{folder}/conf:{fetch_hdfs()}/*:{Path(spec.origin).parent}/jars/*"
        logging = f"-Dlog4j2.configurationFile={folder}/conf/log4j2.properties"
        server = "org.apache.hadoop.hdfs.server"
        command = [program, *_SMALL, *_OPEN, logging, f"-Dhadoop.log.dir={folder}", "-cp", classes]
        format_ = [*command, f"{server}.namenode.NameNode", "-format", "-nonInteractive"]
        try:
            done = subprocess.run(format_, capture_output=True, text=True, timeout=FORMAT_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise ServiceUnavailable(f"HDFS: its folder was not made in {FORMAT_SECONDS:g} s") from None
        if done.returncode != 0:
            raise ServiceUnavailable(f"HDFS: its folder cannot be made:\n{(done.stdout + done.stderr)[-1_000:]}")
        self.name_node = Server("NameNode", [*command, f"{server}.namenode.NameNode"], folder / "namenode.log")
        self.data_node = Server("DataNode", [*command, f"{server}.datanode.DataNode"], folder / "datanode.log")
        self.name_node.start()
        self.start_data_node()

    def start_data_node(self) -> None:
        """Also after it was killed. :raises ServiceUnavailable: it does not come in time."""
        assert self.data_node is not None
        self.data_node.start()
        self.data_node.wait(self._takes_files, READY_SECONDS, "to take a file")

    def _write_settings(self, folder: Path) -> None:
        rpc, web, data, data_web, data_rpc = (f"127.0.0.1:{port}" for port in self._ports)
        (folder / "conf").mkdir()
        core = {"fs.defaultFS": f"hdfs://{rpc}", "hadoop.tmp.dir": f"{folder}/tmp"}
        hdfs = {
            "dfs.replication": "1",
            "dfs.namenode.name.dir": f"{folder}/name",
            "dfs.datanode.data.dir": f"{folder}/data",
            "dfs.namenode.http-address": web,
            "dfs.datanode.address": data,
            "dfs.datanode.http.address": data_web,
            "dfs.datanode.ipc.address": data_rpc,
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.namenode.safemode.extension": "0",
            "dfs.permissions.enabled": "false",
            "dfs.heartbeat.interval": "1",
            # A file is complete when the DataNode has told of it: to be asked sooner than after 0.4 s.
            "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "10",
        }
        for name, values in (("core-site.xml", core), ("hdfs-site.xml", hdfs)):
            entries = "".join(f"<property><name>{k}</name><value>{v}</value></property>" for k, v in values.items())
            (folder / "conf" / name).write_text(f"<configuration>{entries}</configuration>")
        (folder / "conf" / "log4j2.properties").write_text(_LOGGING)

    def _takes_files(self) -> bool:
        at = f"http://127.0.0.1:{self.web_port}/webhdfs/v1/.ready?op=CREATE&overwrite=true&user.name=millrace"
        try:
            with urllib.request.urlopen(_put(f"{at}&noredirect=true"), timeout=10) as answer:
                place = json.load(answer)["Location"]
            # The NameNode names one also for a while after it has died.
            with urllib.request.urlopen(_put(place), timeout=30):
                return True
        except (urllib.error.URLError, OSError, ValueError, KeyError):
            return False

    def stop(self) -> None:
        for server in (self.data_node, self.name_node):
            if server is not None:
                server.kill()
        self.name_node = self.data_node = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Hdfs:
        return self if self.name_node is not None else self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def _put(url: str) -> urllib.request.Request:
    return urllib.request.Request(url, data=b"", method="PUT", headers={"Content-Type": "application/octet-stream"})
