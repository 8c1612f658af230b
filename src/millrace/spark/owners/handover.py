"""The worker's connection to Spark's JVM, so that an owner can be given it.

Only the daemon of ours knows it (``spark/workers/daemon.py``): it notes the files that PySpark's worker is called with.
Elsewhere, and with versions of PySpark whose worker nobody has looked at, ``files`` is None and data goes through the
worker.
"""

from __future__ import annotations

import os
from io import BufferedReader
from typing import BinaryIO

KNOWN = ("4.1", "4.2", "4.3")
"""Minor versions of PySpark whose workers read a task's data from the file that they are called with, as one Arrow
stream, and write one. ``make versions`` tries them all."""

Files = tuple[BufferedReader, BinaryIO]
"""(from the JVM, to the JVM)"""

_files: Files | None = None


def note(infile: BufferedReader, outfile: BinaryIO) -> None:
    """A worker begins a task with these files."""
    global _files
    _files = (infile, outfile)


def files() -> Files | None:
    """Those of the task that runs in this worker."""
    if os.environ.get("SPARK_PIPELINED_UDF") == "1":
        return None  # another thread reads ahead
    return _files


def watch_workers() -> None:
    """In the daemon: let the workers that it will fork note their files."""
    import pyspark
    from pyspark import daemon, worker

    if ".".join(pyspark.__version__.split(".")[:2]) not in KNOWN:
        return
    main = worker.main

    def noting_main(infile: BufferedReader, outfile: BinaryIO) -> None:
        note(infile, outfile)
        main(infile, outfile)

    worker.main = noting_main
    if getattr(daemon, "worker_main", None) is main:  # 4.1 looks for it when the daemon is imported, not in each worker
        daemon.worker_main = noting_main
