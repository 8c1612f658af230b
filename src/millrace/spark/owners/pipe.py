"""The worker's side of an owner: a Python worker of Spark finds the owner of its task and hands its data over.

Imports little: where the session is the user's own, every worker process imports this by itself.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from millrace.spark.owners import handover, place
from millrace.spark.owners.frames import Call, Failed, Forget, Greeting, Join, NeedJob, Shipped, Stay, receive, send
from millrace.spark.owners.streams import BatchWriter, ExactReader, read_batches

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


def run_in_owner(
    greeting: Greeting, call: Call, payload: bytes, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Let the owner run a task: on the worker's own connection to Spark's JVM where that is possible, else through
    this process.

    :raises OwnerLostError: the owner died, or refused.
    """
    with connect(greeting) as connection:
        files = handover.files()
        if files is None:
            yield from _piped(connection, call, payload, batches)
        else:
            _handed_over(connection, call, payload, files)


def begin_stay(greeting: Greeting, stay: Stay | Join, payload: bytes, link: socket.socket) -> socket.socket:
    """Let the owner of a task take its orders from a connection to the driver, for as long as that is open; here it is
    closed. ``end_stay`` waits for the end at what this returns.

    :raises OwnerLostError: the owner died, or refused.
    """
    connection = connect(greeting)
    try:
        _begin(connection, stay, payload, link.fileno())
    except BaseException:
        connection.close()
        raise
    link.close()
    return connection


def end_stay(connection: socket.socket) -> None:
    """Wait until the task has no more orders to expect.

    :raises OwnerLostError: its process has ended.
    """
    _answer(connection)


def _handed_over(connection: socket.socket, call: Call, payload: bytes, files: handover.Files) -> None:
    """The owner reads and writes the worker's own connection; this process waits."""
    infile, outfile = files
    outfile.flush()
    prefix = infile.peek()
    _begin(connection, replace(call, prefix=bytes(prefix), wrapped=True), payload, infile.fileno())
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
            _begin(connection, replace(call, wrapped=False), payload, theirs.fileno())
        failure: list[BaseException] = []
        sender = threading.Thread(target=_send_all, args=(batches, ours, failure), daemon=True)
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


def _begin(connection: socket.socket, call: Call | Stay | Join, payload: bytes, file: int) -> None:
    send(connection, call, [file])
    if isinstance(_answer(connection), NeedJob):
        send(connection, Shipped(payload, tuple(sys.path)))
        _answer(connection)


def _answer(connection: socket.socket) -> Any:
    """What the owner says next, if it is not that it has failed."""
    try:
        message, _ = receive(connection)
    except (EOFError, ConnectionError):
        raise OwnerLostError("the process that this task lives in has ended", begun=True) from None
    if isinstance(message, Failed):
        raise OwnerLostError(message.text, message.begun)
    return message


# -- the keeper ---------------------------------------------------------------------------------------------------


def executor() -> int:
    """The process that starts the workers of this executor: the parent of each."""
    return os.getppid()


@lru_cache(maxsize=1)
def _address(process: int) -> str:
    """Every task of a worker asks for the same."""
    return os.path.join(place.folder_of(process), place.SOCKET)


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
    """Several workers may do so at once: one keeper stays."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    subprocess.Popen(
        [sys.executable, "-m", "millrace.spark.owners.keeper", str(process)],
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def forget(job_id: str) -> None:
    """Let the owners of a job end, those of all executors on this machine."""
    for folder in place.keepers():
        with contextlib.suppress(OSError, EOFError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(FORGET_SECONDS)
            connection.connect(os.path.join(folder, place.SOCKET))
            send(connection, Forget(job_id))
            receive(connection)
