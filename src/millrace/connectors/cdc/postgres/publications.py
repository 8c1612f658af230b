"""The publication: which tables the plugin tells of."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from millrace.connectors.cdc.postgres.catalog import FoundTable, quoted
from millrace.connectors.cdc.postgres.connecting import sql
from millrace.connectors.cdc.postgres.settings import PostgresSettings

logger = logging.getLogger(__name__)

_FLAGS = "SELECT puballtables, pubinsert, pubupdate, pubdelete FROM pg_publication WHERE pubname = %s"
_TABLES = "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s"
_FILTERED = "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s AND rowfilter IS NOT NULL"
_WITH_FILTERS = 150_000
"""the first version that can publish some rows of a table only"""


def ensure_publication(connection: Any, settings: PostgresSettings, tables: Sequence[FoundTable]) -> None:
    """See that the publication has the tables, and all that happens to them. It has to be there before the slot is.

    :raises RuntimeError: it does not, and cannot or must not be changed.
    """
    name = settings.publication_name
    found = connection.execute(_FLAGS, [name]).fetchone()
    if found is None:
        _create(connection, settings, tables)
        return
    _, *told = found
    if not all(told):
        raise RuntimeError(
            f"{settings.place}: publication '{name}' leaves out changes: ALTER PUBLICATION {name} SET (publish = "
            f"'insert, update, delete, truncate')"
        )
    missing = _missing(connection, name, tables)
    if missing:
        if settings.autocreate != "filtered":
            raise RuntimeError(
                f"{settings.place}: publication '{name}' does not have "
                f"{', '.join(str(each.id) for each in missing)}, or has partitions in the place of a table: add what "
                f"is missing, with publish_via_partition_root = true"
            )
        _run(connection, settings, f"ALTER PUBLICATION {_name(name)} ADD TABLE {_listed(missing)}")
        logger.info("publication %s: added %s", name, ", ".join(str(each.id) for each in missing))
    if connection.info.server_version >= _WITH_FILTERS:
        wanted = {(each.id.schema, each.id.table) for each in tables}
        if filtered := wanted.intersection(connection.execute(_FILTERED, [name]).fetchall()):
            raise RuntimeError(
                f"{settings.place}: publication '{name}' has a WHERE for {'.'.join(min(filtered))}: rows of the "
                f"snapshot would be others than those of the log. Take a publication without"
            )


def _missing(connection: Any, name: str, tables: Sequence[FoundTable]) -> list[FoundTable]:
    there = set(connection.execute(_TABLES, [name]).fetchall())
    return [each for each in tables if (each.id.schema, each.id.table) not in there]


def _create(connection: Any, settings: PostgresSettings, tables: Sequence[FoundTable]) -> None:
    name = settings.publication_name
    if settings.autocreate == "disabled":
        raise RuntimeError(
            f"{settings.place}: there is no publication '{name}', and it is not to be made: CREATE PUBLICATION "
            f"{name} FOR TABLE {', '.join(each.id.short for each in tables)} WITH (publish_via_partition_root = true)"
        )
    what = "ALL TABLES" if settings.autocreate == "all_tables" else f"TABLE {_listed(tables)}"
    _run(connection, settings, f"CREATE PUBLICATION {_name(name)} FOR {what} WITH (publish_via_partition_root = true)")
    logger.info("publication %s: made for %s", name, ", ".join(str(each.id) for each in tables))


def drop_publication(connection: Any, settings: PostgresSettings) -> None:
    """Only the one of this slot's own: others belong to others."""
    if not settings.publication:
        connection.execute(f"DROP PUBLICATION IF EXISTS {_name(settings.publication_name)}")


def _run(connection: Any, settings: PostgresSettings, statement: str) -> None:
    import psycopg

    try:
        connection.execute(statement)
    except psycopg.errors.InsufficientPrivilege as error:
        raise RuntimeError(
            f"{settings.place}: user '{settings.target.user}' must not do what capturing needs "
            f"({str(error).strip()}). Let an owner of the tables run: {statement}"
        ) from None


def _listed(tables: Sequence[FoundTable]) -> str:
    return ", ".join(f"{'ONLY ' if each.kind == 'r' else ''}{quoted(each.id)}" for each in tables)


def _name(name: str) -> str:
    return str(sql().Identifier(name).as_string(None))
