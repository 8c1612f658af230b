"""PostgreSQL, as Debian packages it, with logical decoding and prepared transactions."""

from __future__ import annotations

import shutil
import signal
import socket
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from millrace.testing.services.database import Database
from millrace.testing.services.problems import ServiceUnavailable

_HOW = "make services, or apt-get install postgresql-15 postgresql-15-wal2json"
_DEBIAN = Path("/usr/lib/postgresql")
_PLUGINS = "pgoutput,test_decoding,wal2json"
SETTINGS: Mapping[str, str] = {
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
        self.settings = {**SETTINGS, **(settings or {})}
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
        raise ServiceUnavailable(f"postgres is not installed: {_HOW}")
    return Path(there).resolve().parent


def _knows(postgres: Sequence[str], setting: str) -> bool:
    return (
        subprocess.run([*postgres, "-C", setting], capture_output=True, check=False, timeout=30, cwd="/").returncode
        == 0
    )
