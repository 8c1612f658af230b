"""PySpark's worker daemon with everything imported that tasks need.

Workers are forks of the daemon: what it has imported they all share, in time (a worker starts in milliseconds instead
of importing pyarrow and Millrace by itself) and in memory.
"""

from __future__ import annotations

import gc
import sys
import zipimport

import pandas  # noqa: F401  pyarrow imports it when it makes its first array
import pyarrow  # noqa: F401  imported for the forks
from pyspark import daemon, worker  # noqa: F401

import millrace.connectors.collection
import millrace.datastream.stream_execution_environment  # what modules of user functions import
import millrace.graph.lowering
import millrace.spark.stage  # noqa: F401

if __name__ == "__main__":
    # PySpark may lie in a zip file. A new worker lets Python forget what it knows of import paths, and every importer
    # of a folder in there would read the directory of the whole file again.
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimport.zipimporter):
            del sys.path_importer_cache[path]
    # Objects that live for ever need no collector, and pages that it doesn't touch stay shared.
    gc.collect()
    gc.freeze()
    daemon.manager()
