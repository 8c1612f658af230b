"""Where a database is, and as whom to come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millrace.util.secrets import mask_text

CONNECT_SECONDS = 30.0


@dataclass(frozen=True)
class Target:
    """A database as a ``jdbc:`` URL and the options beside it name it."""

    hosts: tuple[tuple[str, int], ...]
    """tried in this order; none for SQLite"""
    database: str
    """of SQLite: the path of its file"""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """of the URL and of ``properties.*``: what the driver is told"""
    timeout: float = CONNECT_SECONDS
    """seconds in which a connection has to be there"""

    @property
    def place(self) -> str:
        """For messages: no secret is in it."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{hosts}/{self.database}" if hosts else self.database

    def masked(self, error: BaseException) -> str:
        """What an error says, without the password."""
        said = mask_text(str(error).strip())
        return said.replace(self.password, "******") if self.password else said


@dataclass(frozen=True)
class TableShape:
    """A table that is written: its name, columns and key, all as the database spells them."""

    table: str
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()

    @property
    def key_places(self) -> tuple[int, ...]:
        return tuple(self.columns.index(key) for key in self.keys)
