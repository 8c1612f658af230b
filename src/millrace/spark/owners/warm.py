"""What workers and owners need of Millrace, imported once by the process that they are forks of."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
from collections.abc import Iterable

MODULES = (
    "pandas",  # pyarrow imports it when it makes its first array
    "millrace.connectors.collection",
    "millrace.datastream.stream_execution_environment",  # what modules of user functions import
    "millrace.spark.workers.here",
    "millrace.spark.owners.owner",
    "millrace.spark.workers.stage",
)


def warm_up() -> None:
    """Import all that a fork would import by itself for each job: that takes most of a second."""
    for name in MODULES:
        importlib.import_module(name)


def own_modules() -> set[str]:
    """The modules of Millrace that this process has imported."""
    return {name for name in sys.modules if name.startswith("millrace.")}


def learn(names: Iterable[str]) -> None:
    """Import what earlier forks had to import by themselves, for the next ones: Millrace's own modules, no other."""
    new = sorted(name for name in names if name.startswith("millrace.") and name not in sys.modules)
    for name in new:
        with contextlib.suppress(ImportError):  # a fork may have had more to import from
            importlib.import_module(name)
    if new:
        gc.freeze()  # as all that forks share
