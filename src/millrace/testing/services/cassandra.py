"""Apache Cassandra: one node with users (``cassandra``, ``cassandra``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millrace.testing.services.database import Database
from millrace.testing.services.jars import jars, java
from millrace.testing.services.ports import free_ports
from millrace.testing.services.problems import ServiceUnavailable

VERSION = "4.1.9"
_OPENED = (
    "java.base/java.io", "java.base/java.lang", "java.base/java.lang.module", "java.base/java.lang.reflect",
    "java.base/java.math", "java.base/java.net", "java.base/java.nio", "java.base/java.util",
    "java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math", "java.base/jdk.internal.misc", "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref", "java.base/jdk.internal.reflect", "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch", "java.logging/java.util.logging", "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.management/javax.management", "java.rmi/java.rmi", "java.rmi/java.rmi.server", "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.transport", "java.rmi/sun.rmi.transport.tcp", "java.sql/java.sql",
    "jdk.management/com.sun.management.internal",
)  # fmt: skip
"""parts of Java that it looks into, beyond what Java 17 lets it"""
_SETTINGS = """
cluster_name: millrace
num_tokens: 4
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
authenticator: PasswordAuthenticator
authorizer: AllowAllAuthorizer
role_manager: CassandraRoleManager
hinted_handoff_enabled: false
data_file_directories: [{folder}/data]
commitlog_directory: {folder}/commitlog
cdc_raw_directory: {folder}/cdc
hints_directory: {folder}/hints
saved_caches_directory: {folder}/caches
commitlog_sync: periodic
commitlog_sync_period: 50ms
commitlog_segment_size: 8MiB
disk_failure_policy: stop
commit_failure_policy: stop
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "127.0.0.1:{storage}"
storage_port: {storage}
ssl_storage_port: {tls}
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
native_transport_port: {port}
endpoint_snitch: SimpleSnitch
concurrent_reads: 4
concurrent_writes: 4
memtable_heap_space: 32MiB
memtable_offheap_space: 32MiB
file_cache_size: 16MiB
"""
_LOGGING = '<configuration><root level="WARN"/></configuration>'


def fetch_cassandra() -> Path:
    """The folder with its jars. :raises ServiceUnavailable: they cannot be fetched."""
    return jars("cassandra", f"org.apache.cassandra:cassandra-all:{VERSION}")


class Cassandra(Database):
    """Cassandra, which keeps its files while it is down."""

    name = "Cassandra"
    ready_seconds = 240.0
    user = "cassandra"
    password = "cassandra"

    def __init__(self) -> None:
        super().__init__()
        self._others = free_ports(3)

    def command(self, folder: Path) -> Sequence[str]:
        there = fetch_cassandra()
        agent = next(iter(there.glob("jamm-*.jar")), None)
        if agent is None:
            raise ServiceUnavailable(f"Cassandra: {there} has no jamm, which must watch its memory")
        storage, tls, jmx = self._others
        settings = folder / "cassandra.yaml"
        settings.write_text(_SETTINGS.format(folder=folder, storage=storage, tls=tls, port=self.port))
        (folder / "logback.xml").write_text(_LOGGING)
        properties = {
            "jdk.attach.allowAttachSelf": "true",
            "cassandra.config": settings.as_uri(),
            "cassandra.storagedir": str(folder),
            "cassandra-foreground": "yes",
            "cassandra.jmx.local.port": str(jmx),
            "cassandra.skip_wait_for_gossip_to_settle": "0",
            "cassandra.ring_delay_ms": "100",
            "cassandra.superuser_setup_delay_ms": "0",
        }
        given = [f"-D{name}={value}" for name, value in properties.items()]
        opened = [f"--add-{how}={each}=ALL-UNNAMED" for each in _OPENED for how in ("opens", "exports")]
        small = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        path = f"{folder}:{there}/*"
        main = "org.apache.cassandra.service.CassandraDaemon"
        return [java(), *small, f"-javaagent:{agent}", *opened, *given, "-cp", path, main]
