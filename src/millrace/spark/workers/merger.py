"""The process beside the driver that makes whole states and parts of savepoints from the files of tasks (ADR 31).

It has the job's surroundings, as the processes of tasks have, since it reads and writes values of the user's classes.
It has the lowest priority, does one thing at a time, and ends with the driver. Its standard input is the socket.
"""

from __future__ import annotations

import gc
import os
import queue
import secrets
import socket
import threading

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.merging import save_part, write_whole
from millrace.runtime.failure import describe
from millrace.spark.workers.frames import Merge, Merged, MergedJob, receive, send
from millrace.spark.workers.shipping import ShippedJob, use_spark_directory

_RUNS = 1 << 31
"""The numbers of runs of tasks, and of files that are made here, are not above."""


class Merger:
    """Makes what is asked for one job."""

    def __init__(self, job: MergedJob) -> None:
        self._shipped = ShippedJob.decode(job.shipped)
        use_spark_directory(job.spark_directory)
        self._shipped.prepare()
        self._folder = open_folder(self._shipped.state)

    def answer(self, asked: Merge) -> Merged:
        shipped, run = self._shipped, secrets.randbelow(_RUNS) + 1
        around = self._folder, shipped.job_id, asked.task, asked.files, shipped.key_groups, run
        gc.disable()  # millions of objects are made, and none of them is garbage
        try:
            if asked.savepoint is None:
                return Merged(asked.number, write_whole(*around))
            return Merged(asked.number, save_part(*around, asked.savepoint, asked.places))
        except Exception as error:
            return Merged(asked.number, None, describe(error))
        finally:
            gc.enable()


def _listen(connection: socket.socket, asked: queue.SimpleQueue[Merge]) -> None:
    while True:
        try:
            asked.put(receive(connection)[0])
        except (EOFError, OSError):  # the driver has ended, or needs nothing more
            os._exit(0)


def main() -> None:
    os.nice(19)
    connection = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    merger = Merger(receive(connection)[0])
    asked: queue.SimpleQueue[Merge] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, asked), daemon=True).start()
    while True:
        send(connection, merger.answer(asked.get()))


if __name__ == "__main__":
    main()
