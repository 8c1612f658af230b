"""PySpark's worker daemon with everything imported that tasks need.

Workers are forks of the daemon: what it has imported they all share, in time (a worker starts in milliseconds instead
of importing pyarrow and Millrace by itself) and in memory. So is the keeper of the owners that tasks live in, and what
the keeper forks.
"""

from __future__ import annotations

import gc
import os
import sys

from millrace.spark.sessions.daemon_ahead import VARIABLE
from millrace.spark.workers import ahead


def fork_keeper() -> None:
    """Start the keeper of this daemon's workers."""
    from millrace.spark.owners import keeper

    daemon_pid = os.getpid()
    if os.fork():
        return
    try:
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)  # Spark talks to the daemon through its standard input and output
        os.dup2(2, 1)
        keeper.keep(daemon_pid)
    finally:
        os._exit(0)


def prepare() -> None:
    """Import all that forks share."""
    import zipimport

    from pyspark import daemon, worker  # noqa: F401  imported for the forks

    from millrace.spark.owners import handover, keeper  # noqa: F401
    from millrace.spark.owners.warm import warm_up

    warm_up()
    # PySpark may lie in a zip file. A new worker lets Python forget what it knows of import paths, and every importer
    # of a folder in there would read the directory of the whole file again.
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimport.zipimporter):
            del sys.path_importer_cache[path]
    # Objects that live for ever need no collector, and pages that it doesn't touch stay shared.
    gc.collect()
    gc.freeze()


def main() -> None:
    """Run the daemon, as ``python -m`` does for PySpark; or let one that was begun before have its place."""
    if sys.argv[1:2] == [VARIABLE]:
        if not ahead.wait_for_place(prepare):
            return
    else:
        waiting = os.environ.pop(VARIABLE, None)
        if waiting is not None and ahead.hand_over(int(waiting)):
            return
        prepare()
    from pyspark import daemon

    from millrace.spark.owners import handover

    fork_keeper()
    handover.watch_workers()
    daemon.manager()


if __name__ == "__main__":
    main()
