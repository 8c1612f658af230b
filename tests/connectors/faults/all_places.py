"""All connectors that are tried with servers that fail."""

from __future__ import annotations

from tests.connectors.faults import databases, messages, stores
from tests.connectors.faults.place import Place

PLACES: list[type[Place]] = [*databases.PLACES, *stores.PLACES, *messages.PLACES]
