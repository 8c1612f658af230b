"""All connectors that are tried with servers that fail."""

from __future__ import annotations

from tests.connectors.faults import captures, databases, files, messages, stores, web
from tests.connectors.faults.place import Place

PLACES: list[type[Place]] = [
    *databases.PLACES,
    *captures.PLACES,
    *stores.PLACES,
    *files.PLACES,
    *web.PLACES,
    *messages.PLACES,
]
