"""One line of the table of routes: what is served where, and by which function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.cluster.rest.web.call import Call
from millrace.cluster.rest.web.parameters import Query


@dataclass(frozen=True)
class Operation:
    """One operation of the API."""

    method: str
    path: str
    handler: Callable[[Call], Any]
    """gives a body, or an ``Answer``"""
    summary: str
    answer: Any = None
    """type of the body; None: an empty object"""
    status: int = 200
    query: tuple[Query, ...] = ()
    request: Any = None
    """type of the request's body; nothing is read as an empty object"""
    request_name: str = ""
    """what the type is called where it has no name"""
    upload: bool = False
    """whether a file comes with it"""
    media: str = "application/json"
    changes: bool | None = None
    """whether it changes something; None: all but GET do"""
    history: bool = False
    """whether the history server has it, too"""
    versioned: bool = True
    """whether it is served under ``/v1``, too"""

    @property
    def is_protected(self) -> bool:
        return self.method != "GET" if self.changes is None else self.changes
