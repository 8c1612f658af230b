"""HBase: one JVM with master, region server, ZooKeeper and the Thrift server, on the local file system."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from millrace.testing.services.jars import jars, java
from millrace.testing.services.ports import free_ports
from millrace.testing.services.small import SmallServer

VERSION = "2.6.1"
_OPENED = ("java.base/java.lang", "java.base/java.nio", "java.base/jdk.internal.misc", "java.base/sun.nio.ch")
_LAUNCHER = """
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
    return jars("hbase", *(f"org.apache.hbase:{name}:{VERSION}" for name in ("hbase-server", "hbase-thrift")))


class HBase(SmallServer):
    """HBase behind its Thrift server, whose port is ``port``. Needs a JDK."""

    name = "HBase"
    ready_seconds = 240.0

    def __init__(self) -> None:
        super().__init__()
        (self.zookeeper,) = free_ports(1)

    def command(self, folder: Path) -> Sequence[str]:
        source = folder / "Launcher.java"
        source.write_text(_LAUNCHER)
        (folder / "hbase-site.xml").write_text(self._settings(folder))
        opened = [f"--add-opens={each}=ALL-UNNAMED" for each in _OPENED]
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
