"""Reading the rows of a prepared transaction once it is committed: they are in the log where it was prepared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from millrace.connectors.cdc.mysql.log import kinds
from millrace.connectors.cdc.mysql.log.event import Event
from millrace.connectors.cdc.mysql.log.stream import FIRST, Begin, LogConnectionLost, LogStream
from millrace.connectors.cdc.mysql.log.transactions import Step, Transactions, prepared_steps
from millrace.connectors.cdc.mysql.position import file_number

_SECONDS = 60.0
"""in which something has to come of a log that has something"""
Place = tuple[str, int]


@dataclass(frozen=True)
class PreparedReader:
    """:ivar open: another stream of the log. :ivar files: the names of its files, oldest first."""

    open: Callable[[Begin], LogStream]
    files: Callable[[], list[str]]

    def steps(self, name: str, where: Place | None, until: Place) -> Iterator[Step]:
        """The steps of a transaction.

        :param where: it begins; None: it was prepared before anybody looked, and is searched for from here back.
        :param until: where its commit is.
        :raises ValueError: the log has it no more.
        """
        where = where or self._found(name, until)
        stream = self.open(Begin(*where))
        try:
            for event in _all(stream):
                for step in prepared_steps(event):
                    if step is None:
                        return
                    yield step
        finally:
            stream.close()

    def _found(self, name: str, until: Place) -> Place:
        for file in reversed(self.files()):
            found = self._in_file(name, file, until)
            if found is not None:
                return found
        raise ValueError(
            f"transaction {name} was prepared (XA) before the log begins that the server still has, and committed now: "
            f"take a new snapshot"
        )

    def _in_file(self, name: str, file: str, until: Place) -> Place | None:
        if file_number(file) > file_number(until[0]):
            return None
        stream = self.open(Begin(file, FIRST))
        scan = Transactions(file, FIRST, None, lambda name: iter(()), forgets=False)
        try:
            for event in _all(stream):
                for _ in scan.steps(event):
                    pass
                if scan.file != file or (file == until[0] and scan.offset >= until[1]):
                    return scan.prepared.get(name)
        finally:
            stream.close()
        return None


def _all(stream: LogStream) -> Iterator[Event]:
    while True:
        nothing = True
        for event in stream.events(_SECONDS):
            nothing = False
            yield event
            if event.kind == kinds.HEARTBEAT:
                return  # the log ends here
        if nothing:
            raise LogConnectionLost("the server says nothing of a prepared transaction")
