"""One function on the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A function, an example, and what it does.

    :ivar name: as ``list_functions()`` of PyFlink has it, else as SQL has it.
    :ivar sql: an expression of constants or over the columns of ``t``, or a whole query over ``t`` or ``log``.
    :ivar meaning: in one line; units where there are some.
    :ivar also: other names and signs in SQL for the same.
    :ivar varies: what stands in the place of a result that is another one each time.
    """

    name: str
    sql: str
    meaning: str
    also: tuple[str, ...] = ()
    varies: str = ""

    @property
    def is_query(self) -> bool:
        return self.sql.startswith("SELECT ")
