"""Statistics of tables that are written: what ANALYZE TABLE has counted of them no longer holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from millrace.relational.nodes import Rel, Sink
from millrace.table.catalogs.paths import ObjectPath

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


def forget_written(plans: Iterable[Rel], session: Session) -> None:
    """The catalogs forget the statistics of the tables that plans write into."""
    for plan in plans:
        if isinstance(plan, Sink):
            forget(plan.path, session)


def forget(path: tuple[str, str, str], session: Session) -> None:
    """The same for one table, if a catalog keeps it."""
    found = session.catalogs.find_table(path)
    if found is not None and not found.temporary:
        session.catalogs.catalog(path[0]).forget_statistics(ObjectPath(*path[1:]))
