"""MariaDB, as Debian packages it, with a log of rows for change data capture. It stands for MySQL, too."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from millrace.testing.services.database import Database
from millrace.testing.services.small import program

_HOW = "make services, or apt-get install mariadb-server"
SETTINGS: Mapping[str, str] = {
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
        self.settings = {**SETTINGS, **(settings or {})}

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:mariadb://127.0.0.1:{self.port}/{self.database}"

    def command(self, folder: Path) -> Sequence[str]:
        data = folder / "data"
        account = [f"--user={self.account}"] if os.getuid() == 0 else []
        install = program("mariadb-install-db", _HOW)
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
        start = [program("mariadbd", _HOW), "--no-defaults", *at, f"--init-file={first}", "--skip-name-resolve", *given]
        return self.as_account(start)

    def ready(self) -> bool:
        """Whether it greets clients, which it does when its first statements have run."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as client:
                client.settimeout(5)
                return len(client.recv(5)) == 5
        except OSError:
            return False
