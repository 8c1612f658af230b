"""Stores in Java: MongoDB's protocol, HBase, HDFS and S3.

MongoDB is mongo-java-server, which keeps what it has in memory. HBase is one JVM with master, region server, ZooKeeper
and the Thrift server on the local file system. HDFS is a NameNode and a DataNode of the jars beside PySpark. S3 is
s3proxy, which answers requests from a folder.
"""

from __future__ import annotations

import json
import shutil
import socket
import struct
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from xml.sax.saxutils import escape

from millrace.testing.services.downloads import jars, java
from millrace.testing.services.server import Server, ServiceUnavailable, free_ports
from millrace.testing.services.small_servers import SmallServer

# MongoDB's protocol

MONGODB_VERSION = "1.47.0"
_MONGODB_MEMORY = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_MONGODB_LAUNCHER = """
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.ServerVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;

public class Launcher {
    public static void main(String[] arguments) throws Exception {
        MongoServer server = new MongoServer(new MemoryBackend().version(ServerVersion.MONGO_5_0));
        server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
        Thread.currentThread().join();
    }
}
"""


def fetch_mongodb() -> Path:
    """The folder with its jars. :raises ServiceUnavailable: they cannot be fetched."""
    return jars("mongodb", f"de.bwaldvogel:mongo-java-server:{MONGODB_VERSION}")


class MongoDb(SmallServer):
    """MongoDB's protocol, version 5.0, without users, transactions and change streams. Needs a JDK."""

    name = "mongo-java-server"
    ready_seconds = 120.0

    def command(self, folder: Path) -> Sequence[str]:
        source = folder / "Launcher.java"
        source.write_text(_MONGODB_LAUNCHER)
        return [java(), *_MONGODB_MEMORY, "-cp", f"{fetch_mongodb()}/*", str(source), str(self.port)]

    @property
    def uri(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}"


# HBase

HBASE_VERSION = "2.6.1"
_HBASE_OPENED = ("java.base/java.lang", "java.base/java.nio", "java.base/jdk.internal.misc", "java.base/sun.nio.ch")
_HBASE_LAUNCHER = """
import java.net.Socket;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.thrift.ThriftServer;

public class Launcher {
    public static void main(String[] arguments) throws Exception {
        Thread master = new Thread(() -> HMaster.main(new String[] {"start"}), "master");
        master.start();
        while (true) {
            try (Socket tried = new Socket("127.0.0.1", Integer.parseInt(arguments[0]))) {
                break;
            } catch (java.io.IOException error) {
                Thread.sleep(100);
            }
        }
        ThriftServer.main(new String[] {"--bind", "127.0.0.1", "-p", arguments[1], "--infoport", "-1", "start"});
        master.join();
    }
}
"""
# getTableNames in Thrift's binary protocol: version and call, the name, a number, no arguments.
_QUESTION = b"\x80\x01\x00\x01" + struct.pack(">i", 13) + b"getTableNames" + struct.pack(">i", 1) + b"\x00"
_REPLY = b"\x80\x01\x00\x02"


def fetch_hbase() -> Path:
    """The folder with its jars. :raises ServiceUnavailable: they cannot be fetched."""
    return jars("hbase", *(f"org.apache.hbase:{name}:{HBASE_VERSION}" for name in ("hbase-server", "hbase-thrift")))


class HBase(SmallServer):
    """HBase behind its Thrift server, whose port is ``port``. Needs a JDK."""

    name = "HBase"
    ready_seconds = 240.0

    def __init__(self) -> None:
        super().__init__()
        (self.zookeeper,) = free_ports(1)

    def command(self, folder: Path) -> Sequence[str]:
        source = folder / "Launcher.java"
        source.write_text(_HBASE_LAUNCHER)
        (folder / "hbase-site.xml").write_text(self._settings(folder))
        opened = [f"--add-opens={each}=ALL-UNNAMED" for each in _HBASE_OPENED]
        small = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        path = f"{folder}:{fetch_hbase()}/*"
        return [java(), *small, *opened, "-cp", path, str(source), str(self.zookeeper), str(self.port)]

    def _settings(self, folder: Path) -> str:
        settings = {
            "hbase.rootdir": f"file://{folder}/hbase",
            "hbase.tmp.dir": f"{folder}/tmp",
            "hbase.cluster.distributed": "false",
            "hbase.unsafe.stream.capability.enforce": "false",
            "hbase.wal.provider": "filesystem",
            "hbase.zookeeper.quorum": "127.0.0.1",
            "hbase.zookeeper.property.dataDir": f"{folder}/zk",
            "hbase.zookeeper.property.clientPort": str(self.zookeeper),
            "hbase.zookeeper.property.clientPortAddress": "127.0.0.1",
            "hbase.master.hostname": "localhost",
            "hbase.regionserver.hostname": "localhost",
            "hbase.master.ipc.address": "127.0.0.1",
            "hbase.regionserver.ipc.address": "127.0.0.1",
            "hbase.master.port": "0",
            "hbase.regionserver.port": "0",
            "hbase.master.info.port": "-1",
            "hbase.regionserver.info.port": "-1",
        }
        made = (
            f"<property><name>{name}</name><value>{escape(value)}</value></property>"
            for name, value in settings.items()
        )
        return f"<configuration>{''.join(made)}</configuration>"

    def stop(self) -> None:
        if self.server is not None:
            self.server.kill()  # its files are thrown away
        super().stop()

    def ready(self) -> bool:
        """Whether it lists its tables: the Thrift server is there before the master."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as client:
                client.settimeout(10)
                client.sendall(_QUESTION)
                return client.recv(4) == _REPLY and b"Exception" not in client.recv(200)
        except OSError:
            return False


# HDFS

HDFS_VERSION = "3.5.0"
HDFS_READY_SECONDS = 180.0
HDFS_FORMAT_SECONDS = 120.0
_HDFS_MEMORY = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_HDFS_OPEN = [f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in ("lang", "util", "io")]
_HDFS_LOGGING = """status = error
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
    return jars("hadoop", f"org.apache.hadoop:hadoop-client-minicluster:{HDFS_VERSION}", *bouncy)


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
        """Port of WebHDFS."""
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
        command = [program, *_HDFS_MEMORY, *_HDFS_OPEN, logging, f"-Dhadoop.log.dir={folder}", "-cp", classes]
        format_ = [*command, f"{server}.namenode.NameNode", "-format", "-nonInteractive"]
        try:
            done = subprocess.run(format_, capture_output=True, text=True, timeout=HDFS_FORMAT_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise ServiceUnavailable(f"HDFS: its folder was not made in {HDFS_FORMAT_SECONDS:g} s") from None
        if done.returncode != 0:
            raise ServiceUnavailable(f"HDFS: its folder cannot be made:\n{(done.stdout + done.stderr)[-1_000:]}")
        self.name_node = Server("NameNode", [*command, f"{server}.namenode.NameNode"], folder / "namenode.log")
        self.data_node = Server("DataNode", [*command, f"{server}.datanode.DataNode"], folder / "datanode.log")
        self.name_node.start()
        self.start_data_node()

    def start_data_node(self) -> None:
        """Start the data node, also after it was killed. :raises ServiceUnavailable: it is not ready in time."""
        assert self.data_node is not None
        self.data_node.start()
        self.data_node.wait(self._takes_files, HDFS_READY_SECONDS, "to take a file")

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
            # A file is complete when the DataNode has reported it: poll sooner than after 0.4 s.
            "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "10",
        }
        for name, values in (("core-site.xml", core), ("hdfs-site.xml", hdfs)):
            entries = "".join(f"<property><name>{k}</name><value>{v}</value></property>" for k, v in values.items())
            (folder / "conf" / name).write_text(f"<configuration>{entries}</configuration>")
        (folder / "conf" / "log4j2.properties").write_text(_HDFS_LOGGING)

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


# S3

S3_VERSION = "4.1.0"
_S3_MEMORY = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_S3_SETTINGS = """s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.authorization={authorization}
s3proxy.identity={access_key}
s3proxy.credential={secret_key}
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={data}
jclouds.identity=x
jclouds.credential=x
"""
_S3_LOGGING = '<configuration><root level="WARN"/></configuration>'


def fetch_s3() -> Path:
    """The folder with its jars. :raises ServiceUnavailable: they cannot be fetched."""
    # jclouds asks for a jackson whose annotations are older than the rest of it.
    return jars("s3proxy", f"org.gaul:s3proxy:{S3_VERSION}", "com.fasterxml.jackson.core:jackson-annotations:2.21")


class S3(SmallServer):
    """An S3 server on loopback.

    :param open_to_all: whether it looks at no signature; for clients that sign in another way.
    """

    name = "s3proxy"
    ready_seconds = 120.0
    access_key = "millrace-access"
    secret_key = "millrace-secret"

    def __init__(self, open_to_all: bool = False) -> None:
        super().__init__()
        self._authorization = "none" if open_to_all else "aws-v2-or-v4"

    @property
    def url(self) -> str:
        """What clients call the endpoint."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        """A folder for each bucket."""
        assert self._folder is not None
        return self._folder / "data"

    def configuration(self) -> dict[str, str]:
        """Flink's keys for a program that uses it."""
        return {
            "s3.endpoint": self.url,
            "s3.path.style.access": "true",
            "s3.access-key": self.access_key,
            "s3.secret-key": self.secret_key,
        }

    def bucket(self, name: str) -> None:
        """Make a bucket."""
        (self.data / name).mkdir()

    def command(self, folder: Path) -> Sequence[str]:
        program, libraries = java(), fetch_s3()
        (folder / "data").mkdir()
        settings, logging = folder / "s3proxy.conf", folder / "logback.xml"
        settings.write_text(
            _S3_SETTINGS.format(
                port=self.port,
                authorization=self._authorization,
                access_key=self.access_key,
                secret_key=self.secret_key,
                data=folder / "data",
            )
        )
        logging.write_text(_S3_LOGGING)
        at = [f"-Dlogback.configurationFile={logging}", "-cp", f"{libraries}/*"]
        return [program, *_S3_MEMORY, *at, "org.gaul.s3proxy.Main", "--properties", str(settings)]
