"""The worker's side of an owner: a Python worker of Spark finds the owner of its task and hands its data over.

Either the owner gets the worker's connection to Spark's JVM, or data goes through the worker as Arrow batches. The
connection is known only where Millrace's daemon runs (``spark/workers/daemon.py``): it notes the files that PySpark's
worker is called with. Elsewhere, and with versions of PySpark whose worker was not examined, ``files`` is None.

Imports little, and nothing of the runtime: where the session is the user's own, every worker process imports this by
itself.
"""

from __future__ import annotations

import contextlib
import io
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from io import BufferedReader
from typing import Any, BinaryIO

import pyarrow as pa

from millrace.spark.workers import processes
from millrace.spark.workers.frames import (
    Call,
    Failed,
    Forget,
    Greeting,
    Join,
    NeedJob,
    Shipped,
    Stay,
    Unreached,
    receive,
    send,
)
from millrace.util.threads import JobThread

# The connection to the JVM

KNOWN_WORKERS = ("4.1", "4.2", "4.3")
"""Minor versions of PySpark whose workers read a task's data from the file that they are called with, as one Arrow
stream, and write one. ``make versions`` tries them all."""

WorkerFiles = tuple[BufferedReader, BinaryIO]
"""(from the JVM, to the JVM)"""

_files: WorkerFiles | None = None


def note(infile: BufferedReader, outfile: BinaryIO) -> None:
    """Note the files that the worker begins a task with."""
    global _files
    _files = (infile, outfile)


def worker_files() -> WorkerFiles | None:
    """The files of the connection between this worker and Spark's JVM, for the running task; None: they are unknown."""
    if os.environ.get("SPARK_PIPELINED_UDF") == "1":
        return None  # another thread reads ahead
    return _files


def watch_workers() -> None:
    """In the daemon: let the workers that it will fork note their files."""
    import pyspark
    from pyspark import daemon, worker

    if ".".join(pyspark.__version__.split(".")[:2]) not in KNOWN_WORKERS:
        return
    main = worker.main

    def noting_main(infile: BufferedReader, outfile: BinaryIO) -> None:
        note(infile, outfile)
        main(infile, outfile)

    worker.main = noting_main
    if getattr(daemon, "worker_main", None) is main:  # 4.1 looks for it when the daemon is imported, not in each worker
        daemon.worker_main = noting_main


# Rows of a stage's input and output

SCHEMA = pa.schema(
    [
        ("target", pa.int32()),
        ("edge", pa.int32()),
        ("channel", pa.int32()),
        ("number", pa.int32()),
        ("payload", pa.binary()),
        ("run", pa.int32()),
    ]
)
SPARK_SCHEMA = "target int, edge int, channel int, number int, payload binary, run int"


# Packets between a socket and the runtime

START = struct.pack(">i", -6)
"""The number that Spark's JVM expects before the first batch of a stream (``SpecialLengths.START_ARROW_STREAM``)."""
WRITE_BUFFER = 1 << 16


class ExactReader(io.RawIOBase):
    """Reads what was read ahead, then from the file: never more than is asked for, since what follows the data is not
    ours."""

    def __init__(self, file: int, prefix: bytes = b"") -> None:
        self._file = file
        self._prefix = memoryview(prefix)
        self.consumed = 0
        """bytes of the prefix that were read"""
        self._ahead = b""

    def readable(self) -> bool:
        return True

    def at_end(self) -> bool:
        """Whether nothing comes any more; waits until that is known."""
        if self.consumed < len(self._prefix):
            return False
        first = os.read(self._file, 1)
        self._ahead += first
        return not first

    def read(self, size: int = -1) -> bytes:
        assert size >= 0, "the end of this stream is not the end of the file"
        known = bytes(self._prefix[self.consumed : self.consumed + size])
        self.consumed += len(known)
        if len(known) < size and self._ahead:
            known, self._ahead = known + self._ahead, b""  # a single byte
        if len(known) == size:
            return known
        parts, missing = [known], size - len(known)
        while missing:
            part = os.read(self._file, min(missing, 1 << 20))
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


def read_batches(reader: ExactReader) -> Iterator[pa.RecordBatch]:
    """The batches of a stream, with their fields as columns."""
    if reader.at_end():
        return  # of a writer that had no batch
    for batch in pa.ipc.open_stream(reader):
        yield _flat(batch)


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.num_columns == 1 and pa.types.is_struct(batch.schema.field(0).type):
        return pa.RecordBatch.from_struct_array(batch.column(0))
    return batch


class BatchWriter:
    """Writes a stream, for Spark's JVM if it is ``wrapped``: one column that has the others as fields.

    Nothing is written before there is a batch, so that an error before can still be told.
    """

    def __init__(self, file: int, wrapped: bool) -> None:
        self._file = io.BufferedWriter(io.FileIO(file, "wb", closefd=False), WRITE_BUFFER)
        self._wrapped = wrapped
        self._writer: Any = None

    @property
    def begun(self) -> bool:
        return self._writer is not None

    def write_all(self, batches: Iterable[pa.RecordBatch]) -> None:
        for batch in batches:
            self._write(_wrapped(batch) if self._wrapped else batch)
        if self._writer is not None:
            self._writer.close()
        self._file.flush()

    def _write(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            if self._wrapped:
                self._file.write(START)
            self._writer = pa.ipc.new_stream(self._file, batch.schema)
        self._writer.write_batch(batch)


def _wrapped(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([batch.to_struct_array()], ["_0"])


# The owner of a task

KEEPER_SECONDS = 60.0
"""How long a worker waits for its keeper: that may have to start, and import Millrace."""
FORGET_SECONDS = 15.0


class OwnerLostError(Exception):
    """The process that a task lives in has ended, or could not run it.

    :param begun: whether a part of the task's data may have been written already.
    """

    def __init__(self, text: str, begun: bool = False) -> None:
        super().__init__(text)
        self.begun = begun


class DriverUnreachedError(OwnerLostError):
    """An owner has not reached its driver: that listens elsewhere by now, cannot be reached, or is another one."""


def run_in_owner(
    greeting: Greeting, call: Call, payload: bytes, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Let the owner run a task: on the worker's own connection to Spark's JVM where that is possible, else through
    this process.

    :raises OwnerLostError: the owner died, or refused.
    """
    with connect(greeting) as connection:
        files = worker_files()
        if files is None:
            yield from _piped(connection, call, payload, batches)
        else:
            _handed_over(connection, call, payload, files)


def begin_stay(greeting: Greeting, stay: Stay | Join, payload: bytes) -> socket.socket:
    """Let the owner of a task connect to the driver and take orders from it, for as long as the driver wants.
    ``end_stay`` waits for the end at what this returns.

    :raises OwnerLostError: the owner died, refused, or has not reached the driver (``DriverUnreachedError``).
    """
    connection = connect(greeting)
    try:
        _begin(connection, stay, payload)
    except BaseException:
        connection.close()
        raise
    return connection


def end_stay(connection: socket.socket) -> None:
    """Wait until the task has ended, and so will take no more orders.

    :raises OwnerLostError: the task's process has ended.
    """
    _answer(connection)


def _handed_over(connection: socket.socket, call: Call, payload: bytes, files: WorkerFiles) -> None:
    """Let the owner read and write the worker's own connection to Spark; this process waits."""
    infile, outfile = files
    outfile.flush()
    prefix = infile.peek()
    _begin(connection, replace(call, prefix=bytes(prefix), wrapped=True), payload, (infile.fileno(),))
    try:
        done = _answer(connection)
    except OwnerLostError as error:
        if error.begun:  # in the middle of its data: what this process would write now, Spark could not read
            os._exit(1)
        raise
    infile.read(done.consumed)


def _piped(
    connection: socket.socket, call: Call, payload: bytes, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            _begin(connection, replace(call, wrapped=False), payload, (theirs.fileno(),))
        failure: list[BaseException] = []
        sender = JobThread(target=_send_all, args=(batches, ours, failure), daemon=True)
        sender.start()
        try:
            yield from _received(ours)
            _answer(connection)
        finally:
            with contextlib.suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)
            sender.join()
        if failure:
            raise failure[0]


def _received(connection: socket.socket) -> Iterator[pa.RecordBatch]:
    try:
        yield from read_batches(ExactReader(connection.fileno()))
    except (pa.ArrowInvalid, OSError):
        return  # the owner's answer says why


def _send_all(batches: Iterable[pa.RecordBatch], connection: socket.socket, failure: list[BaseException]) -> None:
    try:
        BatchWriter(connection.fileno(), wrapped=False).write_all(batches)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the owner's answer says why
    except BaseException as error:
        failure.append(error)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)


def _begin(connection: socket.socket, call: Call | Stay | Join, payload: bytes, files: Sequence[int] = ()) -> None:
    send(connection, call, files)
    if isinstance(_answer(connection), NeedJob):
        send(connection, Shipped(payload, tuple(sys.path)))
        _answer(connection)


def _answer(connection: socket.socket) -> Any:
    """Receive the owner's next answer; raises ``OwnerLostError`` if the run has failed or cannot be made."""
    try:
        message, _ = receive(connection)
    except (EOFError, ConnectionError):
        raise OwnerLostError("the process that this task lives in has ended", begun=True) from None
    if isinstance(message, Failed):
        raise OwnerLostError(message.text, message.begun)
    if isinstance(message, Unreached):
        raise DriverUnreachedError(message.text)
    return message


# -- the keeper ---------------------------------------------------------------------------------------------------


def executor() -> int:
    """Process id of the process that has started this executor's workers: their parent."""
    return os.getppid()


@lru_cache(maxsize=1)
def _address(process: int) -> str:
    """Ask once for the keeper's address: all tasks of a worker use the same."""
    return os.path.join(processes.folder_of(process), processes.SOCKET)


def connect(greeting: Greeting) -> socket.socket:
    """A connection to the owner of a task; starts the keeper if there is none.

    :raises OwnerLostError: there is no keeper after a minute.
    """
    process = executor()
    address = _address(process)
    until = time.monotonic() + KEEPER_SECONDS
    started = False
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(address)
            send(connection, greeting)
            return connection
        except OSError as error:
            connection.close()
            if time.monotonic() > until:
                raise OwnerLostError(
                    f"the process that keeps the tasks of this executor did not answer at {address} for "
                    f"{KEEPER_SECONDS:.0f} s: {error}"
                ) from None
        if not started:
            _start_keeper(process)
            started = True
        time.sleep(0.02)


def prepare() -> None:
    """Start the keeper of this executor, if there is none, before a task needs it."""
    process = executor()
    if not os.path.exists(_address(process)):
        _start_keeper(process)


def _start_keeper(process: int) -> None:
    """Start a keeper. Several workers may do so at once: one keeper stays."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    subprocess.Popen(
        [sys.executable, "-m", "millrace.spark.workers.keeper", str(process)],
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def forget(job_id: str) -> None:
    """End the owners of a job, for all executors on this machine."""
    for folder in processes.keepers():
        with contextlib.suppress(OSError, EOFError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(FORGET_SECONDS)
            connection.connect(os.path.join(folder, processes.SOCKET))
            send(connection, Forget(job_id))
            receive(connection)
