"""Folders whose tests need neither Spark nor a server: runs of those that do leave them out unread.

Reading 22,000 tests takes as long as many of them run, and ``make test`` would do it three times. Whether the list is
right is looked at whenever all is collected.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

_FOLDERS = """
    catalogue cep checkpoint cluster/gateway cluster/holding cluster/insights cluster/places cluster/publishing
    cluster/remote cluster/rest cluster/sql cluster/sql_client cluster/standalone cluster_history common/functions
    common/window configuration connectors/http connectors/lookup connectors/tables/filesystem datastream dbapi formats
    graph owners relational/functions/casts relational/functions/collections relational/functions/json
    relational/functions/logic relational/functions/numbers relational/functions/strings relational/functions/times
    relational/rules runtime simulation table util
"""
_NEEDING = ("spark", "services", "connectors")
"""the marker of a test that needs something"""
_TESTS = Path(__file__).parent
FOLDERS = frozenset(_TESTS / name for name in _FOLDERS.split())


def left_out(path: Path, markers: str) -> bool:
    """Whether a folder is not read.

    :param markers: what ``-m`` says.
    """
    return path in FOLDERS and markers.lstrip("( ").startswith(_NEEDING)


def check(items: Iterable[pytest.Item]) -> None:
    """:raises UsageError: a test needs what its folder is said not to need."""
    for item in items:
        if not FOLDERS.isdisjoint(item.path.parents) and any(map(item.get_closest_marker, _NEEDING)):
            raise pytest.UsageError(
                f"{item.nodeid} needs Spark or a server, so take its folder out of the list in tests/without_java.py"
            )
