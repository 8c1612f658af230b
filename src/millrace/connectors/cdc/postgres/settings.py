"""What of a PostgreSQL is captured, and how."""

from __future__ import annotations

import re
from dataclasses import dataclass

from millrace.connectors.jdbc.dialects.target import Target

__all__ = ["PostgresSettings"]

_SLOT = re.compile(r"[a-z0-9_]{1,63}")


@dataclass(frozen=True)
class PostgresSettings:
    """Where, which tables, and what keeps the log for this job.

    :ivar schemas: regular expressions; :ivar tables: regular expressions of ``schema.table``. Each has to match the
        whole name.
    :ivar publication: its name; empty: one of this slot's own, which is made.
    :ivar autocreate: ``filtered`` (make a publication of the captured tables, add tables to it), ``all_tables``,
        ``disabled``.
    :ivar drop_slot: whether the slot goes when the job ends, and the publication that was made with it.
    :ivar heartbeat: seconds after which the server is asked how far it is, if nothing comes; 0: never.
    :ivar retries: how often a connection is tried once more.
    :ivar delay: checkpoints that are recorded before what comes before one of them is confirmed: so many older ones
        can still be gone on from.
    :ivar wait: seconds that is waited for open transactions, and for whoever else uses the slot.
    """

    target: Target
    schemas: tuple[str, ...]
    tables: tuple[str, ...]
    slot: str
    publication: str = ""
    autocreate: str = "filtered"
    drop_slot: bool = False
    heartbeat: float = 30.0
    wait: float = 60.0
    retries: int = 3
    delay: int = 0

    def __post_init__(self) -> None:
        if not _SLOT.fullmatch(self.slot):
            raise ValueError(f"a slot's name has small letters, digits and _ only, at most 63, not {self.slot!r}")
        for text in (*self.schemas, *self.tables):
            try:
                re.compile(text)
            except re.error as error:
                raise ValueError(f"{text!r} is no regular expression: {error}") from None

    @property
    def publication_name(self) -> str:
        return self.publication or f"millrace_{self.slot}"[:63]

    @property
    def place(self) -> str:
        return f"PostgreSQL at {self.target.place}"

    def wants(self, schema: str, table: str) -> bool:
        """Whether a table is captured."""
        return any(re.fullmatch(each, schema) for each in self.schemas) and any(
            re.fullmatch(each, f"{schema}.{table}") for each in self.tables
        )
