"""What workers and owners need of Millrace, imported once by the process that they are forks of."""

from __future__ import annotations

import importlib

MODULES = (
    "pandas",  # pyarrow imports it when it makes its first array
    "millrace.connectors.collection",
    "millrace.datastream.stream_execution_environment",  # what modules of user functions import
    "millrace.spark.here",
    "millrace.spark.owners.owner",
    "millrace.spark.stage",
)


def warm_up() -> None:
    """Import all that a fork would import by itself for each job: that takes most of a second."""
    for name in MODULES:
        importlib.import_module(name)
