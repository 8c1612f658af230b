"""One epoch over the connections: orders and packets go out stage by stage, packets and acknowledgements come back."""

from __future__ import annotations

import select
import socket
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from millrace.runtime.exchange.exchange import ACK, Packet
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.protocol.epoch import TaskAck
from millrace.spark.owners.frames import Failed, Order, Part, TaskId, receive, send
from millrace.spark.owners.pipe import OwnerLostError


class Rounds:
    """Runs epochs. A packet goes right to the stage that it is for.

    :param links: the connection of each task.
    """

    def __init__(self, job: JobGraph, links: Mapping[TaskId, socket.socket]) -> None:
        self._partitions = job.partitions
        self._stages = job.edge_stages
        self._links = links
        self._tasks = {link.fileno(): task for task, link in links.items()}
        self.pending: set[TaskId] = set()
        """tasks that have not answered"""

    def intact(self) -> bool:
        """Whether all connections are open. Between epochs no task has anything to say, so what can be read there is an
        end."""
        return not _poller(self._links.values()).poll(0)

    def run(self, run: int, text: str) -> list[TaskAck]:
        """One epoch: what all tasks acknowledge.

        :param run: a number that no other run of its tasks has.
        :param text: what the driver has published for it.
        :raises OwnerLostError: a task has not come to its end.
        """
        inbox: dict[TaskId, list[Packet]] = defaultdict(list)
        acks: list[TaskAck] = []
        for stage, width in enumerate(self._partitions):
            self.pending = {(stage, partition) for partition in range(width)}
            for task in sorted(self.pending):
                self._order(task, Order(run, text, inbox.pop(task, [])))
            for packet in self._answers():
                if packet.edge == ACK:
                    acks.append(TaskAck.decode(packet.payload))
                else:
                    inbox[self._stages[packet.edge], packet.target].append(packet)
        return acks

    def _order(self, task: TaskId, order: Order) -> None:
        try:
            send(self._links[task], order)
        except OSError:
            raise lost([task]) from None

    def _answers(self) -> Iterator[Packet]:
        """What the pending tasks send until they have ended."""
        poller = _poller(self._links[task] for task in self.pending)
        while self.pending:
            for file, _ in poller.poll():
                task = self._tasks[file]
                message = self._heard(task)
                if isinstance(message, Part):
                    yield from message.packets
                    continue
                poller.unregister(file)
                self.pending.remove(task)

    def _heard(self, task: TaskId) -> object:
        try:
            message, _ = receive(self._links[task])
        except (EOFError, OSError):
            raise lost([task]) from None
        if isinstance(message, Failed):
            last = message.text.rstrip().rpartition("\n")[2]
            raise OwnerLostError(f"{described([task])} could not be run: {last}\n{message.text}", message.begun)
        return message


def _poller(links: Iterable[socket.socket]) -> select.poll:
    poller = select.poll()
    for link in links:
        poller.register(link, select.POLLIN)
    return poller


def described(tasks: Collection[TaskId]) -> str:
    """Tasks in words."""
    words = [f"task {partition} of stage {stage}" for stage, partition in sorted(tasks)]
    return ", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")


def lost(tasks: Collection[TaskId]) -> OwnerLostError:
    """The process of these tasks has ended."""
    return OwnerLostError(
        f"the process that {described(tasks)} lives in has ended: it was killed, ran out of memory, or crashed in "
        f"native code",
        begun=True,
    )
