"""A task that stays: the driver's orders come over one connection, one run after the other."""

from __future__ import annotations

import os
import socket

from millrace.runtime.failure import full_traceback
from millrace.spark.owners.frames import Done, Failed, Order, Part, Run, Stay, receive, send
from millrace.spark.owners.running import Running


def stay(call: Stay, file: int, running: Running) -> None:
    """Serve the orders of a task until the driver closes the connection.

    :param file: the connection; it stays open here.
    """
    with socket.socket(fileno=os.dup(file)) as link:
        while True:
            try:
                order, _ = receive(link)
                assert isinstance(order, Order)
                _run(call, order, link, running)
            except (EOFError, OSError):
                return  # the driver knows why


def _run(call: Stay, order: Order, link: socket.socket, running: Running) -> None:
    """One run. What it raises is an answer; ``OSError`` comes from the connection alone."""
    groups = running.run_packets(call.job, Run(call.task, order.run, 0), order.text, order.packets)
    begun = False
    while True:
        try:
            group = next(groups, None)
        except BaseException as error:
            send(link, Failed(full_traceback(error), begun))
            return
        if group is None:
            send(link, Done())
            return
        send(link, Part(group))
        begun = True
