"""A server that speaks MongoDB's protocol: mongo-java-server, which keeps what it has in memory. Not MongoDB itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millrace.testing.services.jars import jars, java
from millrace.testing.services.small import SmallServer

VERSION = "1.47.0"
_SMALL = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_LAUNCHER = """
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
    return jars("mongodb", f"de.bwaldvogel:mongo-java-server:{VERSION}")


class MongoDb(SmallServer):
    """MongoDB's protocol, version 5.0, without users, transactions and change streams. Needs a JDK."""

    name = "mongo-java-server"
    ready_seconds = 120.0

    def command(self, folder: Path) -> Sequence[str]:
        source = folder / "Launcher.java"
        source.write_text(_LAUNCHER)
        return [java(), *_SMALL, "-cp", f"{fetch_mongodb()}/*", str(source), str(self.port)]

    @property
    def uri(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}"
