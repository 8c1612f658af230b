"""Parts that are loaded when they are needed, by name: entry points of Millrace, beside those of other packages.

What lies below asks here for what lies above, so that no module imports upwards: programs of streams reach the engine,
the cluster and notebooks this way.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from typing import Any

__all__ = ["ENGINES", "LAUNCHERS", "NOTEBOOKS", "load", "points"]

ENGINES = "millrace.engines"
"""what runs jobs: ``graph.engine.Engine``"""
LAUNCHERS = "millrace.launchers"
"""what submits to clusters: ``cluster`` a job (``Portable``), ``commands`` the programs of the command line"""
NOTEBOOKS = "millrace.notebooks"
"""what shows streams and tables in a notebook: ``notebook.previews``"""


DISTRIBUTION = "millrace-streaming"


def load(group: str, name: str) -> Any:
    """The object of an entry point: Millrace's own, or of another installed package.

    :raises LookupError: no installed package has it.
    """
    # To look through all packages takes as long as to import fifty modules.
    found = _own().get((group, name)) or points(group).get(name)
    if found is None:
        raise LookupError(
            f"no installed package has an entry point {name!r} of {group!r}: install Millrace (pip install "
            f"{DISTRIBUTION}, or pip install -e . in its folder) instead of only adding its folder to the path"
        )
    return found.load()


def points(group: str) -> dict[str, EntryPoint]:
    """Name -> entry point, of all installed packages."""
    return {point.name: point for point in entry_points(group=group)}


@cache
def _own() -> Mapping[tuple[str, str], EntryPoint]:
    try:
        return {(point.group, point.name): point for point in distribution(DISTRIBUTION).entry_points}
    except PackageNotFoundError:
        return {}
