"""Databases: PostgreSQL, MariaDB (which stands for MySQL, too), ClickHouse and Cassandra.

Their programs refuse root, and they come back from a crash. PostgreSQL has logical decoding and prepared transactions,
MariaDB a log of rows for change data capture; Cassandra is one node with users (``cassandra``, ``cassandra``).
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from millrace.testing.services.downloads import jars, java
from millrace.testing.services.server import ServiceUnavailable, free_ports
from millrace.testing.services.small_servers import SmallServer, program

PREPARE_SECONDS = 120.0
CRASH_SECONDS = 15.0


class Database(SmallServer):
    """A database server. Its data files are made before it starts, survive a crash, and are deleted by ``stop``."""

    ready_seconds = 120.0
    account: str
    """account that the server runs as if this process runs as root"""

    at_once: int = signal.SIGKILL
    """signal that ends all of the server's processes without writing their memory to disk"""

    def crash(self) -> None:
        """End it at once, without writing what it has in memory."""
        assert self.server is not None
        self.server.signal(self.at_once)
        until = time.monotonic() + CRASH_SECONDS
        while self.server.running and time.monotonic() < until:
            time.sleep(0.02)
        self.server.kill()

    def start_again(self) -> None:
        """Start it on the files and the port that it had. :raises ServiceUnavailable: it does not come back."""
        assert self.server is not None
        self.server.start()
        self.server.wait(self.ready, self.ready_seconds, "to come back")

    def stop(self) -> None:
        if self.server is not None and self.server.running:
            self.crash()  # its files are thrown away
        super().stop()

    def as_account(self, command: Sequence[str]) -> list[str]:
        if os.getuid() != 0:
            return list(command)
        return ["setpriv", f"--reuid={self.account}", f"--regid={self.account}", "--clear-groups", *command]

    def make(self, folder: Path, command: Sequence[str]) -> None:
        """Run what makes its files, in a folder that is its account's."""
        if os.getuid() == 0:
            try:
                shutil.chown(folder, self.account, self.account)
            except LookupError as error:
                raise ServiceUnavailable(
                    f"{self.name} does not run as root, and there is no user {self.account!r}"
                ) from error
        try:
            made = subprocess.run(
                self.as_account(command), capture_output=True, timeout=PREPARE_SECONDS, check=False, cwd=folder
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ServiceUnavailable(f"{self.name}: its files cannot be made: {error}") from error
        if made.returncode != 0:
            raise ServiceUnavailable(f"{self.name}: its files cannot be made: {made.stderr.decode(errors='replace')}")


# PostgreSQL

_POSTGRESQL_INSTALL = "make services, or apt-get install postgresql-15 postgresql-15-wal2json"
_DEBIAN = Path("/usr/lib/postgresql")
_PLUGINS = "pgoutput,test_decoding,wal2json"
POSTGRESQL_SETTINGS: Mapping[str, str] = {
    "wal_level": "logical",
    "max_replication_slots": "16",
    "max_wal_senders": "16",
    "max_prepared_transactions": "64",
    "fsync": "off",
}


class PostgreSQL(Database):
    """A PostgreSQL server: everyone on loopback is let in, as user ``postgres`` of the database ``postgres``.

    :param settings: of the server, over those for tests.
    :param passwords: ask for passwords; that of ``postgres`` is ``millrace``.
    """

    name = "PostgreSQL"
    account = "postgres"
    at_once = signal.SIGQUIT  # processes of clients are groups of their own
    user = "postgres"
    password = "millrace"
    database = "postgres"

    def __init__(self, settings: Mapping[str, str] | None = None, passwords: bool = False) -> None:
        super().__init__()
        self.settings = {**POSTGRESQL_SETTINGS, **(settings or {})}
        self.passwords = passwords

    @property
    def url(self) -> str:
        return f"postgresql://{self.user}:{self.password}@127.0.0.1:{self.port}/{self.database}"

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self.database}"

    def command(self, folder: Path) -> Sequence[str]:
        programs = _programs()
        data = folder / "data"
        secret = folder / "password"
        secret.write_text(self.password)
        secret.chmod(0o644)
        method = "scram-sha-256" if self.passwords else "trust"
        made = ["-D", str(data), "-A", method, "-U", self.user, f"--pwfile={secret}", "-E", "UTF8", "--no-sync"]
        self.make(folder, [str(programs / "initdb"), *made, "--locale=C.UTF-8"])
        settings = dict(self.settings)
        if _knows(
            self.as_account([str(programs / "postgres"), "-D", str(data)]), "output_plugin_libraries"
        ):  # only the newest versions ask which are allowed
            settings.setdefault("output_plugin_libraries", _PLUGINS)
        at = [
            "-D",
            str(data),
            "-p",
            str(self.port),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
        ]
        given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return self.as_account([str(programs / "postgres"), *at, *given])

    def ready(self) -> bool:
        """Whether it lets clients in: it listens before it does, while it recovers."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as client:
                client.settimeout(5)
                words = f"user\0{self.user}\0database\0{self.database}\0\0".encode()
                client.sendall(struct.pack("!ii", len(words) + 8, 196608) + words)
                return client.recv(1) == b"R"
        except OSError:
            return False


def _programs() -> Path:
    """The folder of the newest version that is installed. :raises ServiceUnavailable: there is none."""
    found = sorted(_DEBIAN.glob("*/bin/postgres"), key=lambda each: int(each.parent.parent.name), reverse=True)
    if found:
        return found[0].parent
    there = shutil.which("postgres")
    if there is None:
        raise ServiceUnavailable(f"postgres is not installed: {_POSTGRESQL_INSTALL}")
    return Path(there).resolve().parent


def _knows(postgres: Sequence[str], setting: str) -> bool:
    return (
        subprocess.run([*postgres, "-C", setting], capture_output=True, check=False, timeout=30, cwd="/").returncode
        == 0
    )


# MariaDB

_MARIADB_INSTALL = "make services, or apt-get install mariadb-server"
MARIADB_SETTINGS: Mapping[str, str] = {
    "binlog-format": "ROW",
    "binlog-row-image": "FULL",
    "binlog-row-metadata": "FULL",
    "character-set-server": "utf8mb4",
    "innodb-flush-log-at-trx-commit": "2",  # to the operating system: a killed server has what it committed
    "local-infile": "1",
    "log-bin": "binlog",
    "server-id": "7",
    "sync-binlog": "0",
}


class MariaDB(Database):
    """A MariaDB server with a user ``millrace`` that may do everything and the database ``millrace``.

    :param settings: of the server, over those for tests; a text without leading hyphens for each.
    """

    name = "MariaDB"
    account = "mysql"
    at_once = signal.SIGKILL
    user = "millrace"
    password = "millrace"
    database = "millrace"

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.settings = {**MARIADB_SETTINGS, **(settings or {})}

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:mariadb://127.0.0.1:{self.port}/{self.database}"

    def command(self, folder: Path) -> Sequence[str]:
        data = folder / "data"
        account = [f"--user={self.account}"] if os.getuid() == 0 else []
        install = program("mariadb-install-db", _MARIADB_INSTALL)
        ways = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        self.make(folder, [install, "--no-defaults", f"--datadir={data}", *ways, *account])
        first = folder / "first.sql"
        first.write_text(
            f"CREATE DATABASE IF NOT EXISTS {self.database};\n"
            f"CREATE USER IF NOT EXISTS '{self.user}'@'127.0.0.1' IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO '{self.user}'@'127.0.0.1' WITH GRANT OPTION;\n"
        )
        first.chmod(0o644)
        at = [f"--datadir={data}", f"--port={self.port}", "--bind-address=127.0.0.1", f"--socket={folder / 's.sock'}"]
        given = [f"--{name}={value}" for name, value in self.settings.items()]
        start = [
            program("mariadbd", _MARIADB_INSTALL),
            "--no-defaults",
            *at,
            f"--init-file={first}",
            "--skip-name-resolve",
            *given,
        ]
        return self.as_account(start)

    def ready(self) -> bool:
        """Whether it greets clients, which it does when its first statements have run."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as client:
                client.settimeout(5)
                return len(client.recv(5)) == 5
        except OSError:
            return False


# ClickHouse

_CLICKHOUSE_SETTINGS = """<yandex>
<logger><level>warning</level><console>1</console></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>{folder}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>16777216</mark_cache_size>
</yandex>"""
_CLICKHOUSE_USER = """<{name}><password>{password}</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></{name}>"""


class ClickHouse(Database):
    """An old ClickHouse (18.16 in Debian 12) with a user that has a password."""

    name = "ClickHouse"
    ready_seconds = 60.0
    user = "millrace"
    password = "millrace"

    def __init__(self) -> None:
        super().__init__()
        (self._tcp,) = free_ports(1)

    def command(self, folder: Path) -> Sequence[str]:
        there = program("clickhouse-server", "make services, or apt-get install clickhouse-server")
        for name in ("data", "tmp"):
            (folder / name).mkdir(exist_ok=True)
        users = _CLICKHOUSE_USER.format(name="default", password="") + _CLICKHOUSE_USER.format(
            name=self.user, password=self.password
        )
        (folder / "users.xml").write_text(
            f"<yandex><profiles><default/></profiles><users>{users}</users><quotas><default/></quotas></yandex>"
        )
        settings = folder / "config.xml"
        settings.write_text(_CLICKHOUSE_SETTINGS.format(http=self.port, tcp=self._tcp, folder=folder))
        return [there, f"--config-file={settings}"]

    @property
    def url(self) -> str:
        """Of its HTTP interface."""
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/ping", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


# Cassandra

CASSANDRA_VERSION = "4.1.9"
_CASSANDRA_OPENED = (
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
_CASSANDRA_SETTINGS = """
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
_CASSANDRA_LOGGING = '<configuration><root level="WARN"/></configuration>'


def fetch_cassandra() -> Path:
    """The folder with its jars. :raises ServiceUnavailable: they cannot be fetched."""
    return jars("cassandra", f"org.apache.cassandra:cassandra-all:{CASSANDRA_VERSION}")


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
        settings.write_text(_CASSANDRA_SETTINGS.format(folder=folder, storage=storage, tls=tls, port=self.port))
        (folder / "logback.xml").write_text(_CASSANDRA_LOGGING)
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
        opened = [f"--add-{how}={each}=ALL-UNNAMED" for each in _CASSANDRA_OPENED for how in ("opens", "exports")]
        small = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        path = f"{folder}:{there}/*"
        main = "org.apache.cassandra.service.CassandraDaemon"
        return [java(), *small, f"-javaagent:{agent}", *opened, *given, "-cp", path, main]
