"""Asks the owners of a job on this machine what their threads do."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count

from millrace.spark.owners import place
from millrace.spark.owners.frames import Begun, Look, Request, Sampling, Told, receive, send

PATIENCE_SECONDS = 10.0
"""How long an owner may take to answer, beyond the time that it is to look."""


def look(job_id: str, request: Request, patience: float = PATIENCE_SECONDS) -> list[Told]:
    """What each of them tells; all look at the same time. Those that do not answer in time are left out."""
    found = []
    with ExitStack() as connections:
        asked = [each for folder in place.keepers() for each in _ask(folder, job_id, request, patience, connections)]
        for connection in asked:
            connection.settimeout(patience + (request.seconds if isinstance(request, Sampling) else 0.0))
            with contextlib.suppress(OSError, EOFError):
                told, _ = receive(connection)
                assert isinstance(told, Told)
                found.append(told)
    return found


def _ask(
    folder: str, job_id: str, request: Request, patience: float, connections: ExitStack
) -> Iterator[socket.socket]:
    """A connection to each owner of the job that a keeper has, each of which has begun to look."""
    with contextlib.suppress(OSError, EOFError):
        for number in count():
            connection = connections.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            connection.settimeout(patience)
            connection.connect(os.path.join(folder, place.SOCKET))
            send(connection, Look(job_id, number))
            send(connection, request)
            try:
                answer, _ = receive(connection)  # EOFError: there are no more
            except TimeoutError:
                continue  # a call that lets no other thread of its process run
            assert isinstance(answer, Begun)
            yield connection
