"""PySpark's worker daemon with everything imported that tasks need.

Workers are forks of the daemon: what it has imported they all share, in time (a worker starts in milliseconds instead
of importing pyarrow and Millrace by itself) and in memory.
"""

from __future__ import annotations

import gc

import pyarrow  # noqa: F401  imported for the forks
from pyspark import daemon, worker  # noqa: F401

import millrace.graph.lowering
import millrace.spark.stage  # noqa: F401

if __name__ == "__main__":
    # Objects that live for ever need no collector, and pages that it doesn't touch stay shared.
    gc.collect()
    gc.freeze()
    daemon.manager()
