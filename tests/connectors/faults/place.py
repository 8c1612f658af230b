"""``Place``: a connector's tables over a server that fails, in jobs without Spark."""

from __future__ import annotations

import socket
import threading
import time
import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

from tests.connectors.stores.store_tables import silent_server
from tests.connectors.tables.message_tables import MessageTables
from tests.servers.proxy import Proxy

from millrace.runtime.failure import JobFailedError
from millrace.table.statement_runners.statements import insert_plans
from millrace.testing.connectors.faults import Fault, FaultsUnderTest
from millrace.testing.local import LocalEngine
from millrace.testing.services.server import free_ports

OUTAGE_SECONDS = 0.7
LISTEN_SECONDS = 0.1
WITHOUT_SERVER = (Fault.REFUSED, Fault.HANGS_UP, Fault.SILENT)
"""what needs no server to be tried"""
OUTAGES = (Fault.OUTAGE, Fault.OTHER_WAY)
ROWS = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def says(error: BaseException) -> str:
    """What a user reads behind ``cause:``, or the message of an error before the job has begun."""
    return error.failure.cause if isinstance(error, JobFailedError) else f"{type(error).__name__}: {error}"


class Place(FaultsUnderTest):
    """A connector. Its tables have the columns ``id`` and ``name``.

    :cvar server: the fixture of its server.
    :cvar writes: whether tables are written; else they are read.
    :cvar unbounded: whether what is read has no end.
    :cvar looks_up: whether they are looked up, and neither written nor read.
    """

    name: str
    connector: str
    server: str | None = None
    slow = False
    """whether even a silent server is noticed late"""
    writes = True
    unbounded = False
    looks_up = False
    columns = "id INT, name STRING"
    values = "{}, {}"
    """a row, of a number and a text"""
    looked_up = ("id", "l.id", "r.name")
    """the key of a look-up, what it is compared with, and what is asked for"""
    wrong_columns = "id INT, name INT"
    wrong_values: str | None = None
    """what does not fit into a table of the wrong type; None: such a table is read"""
    patience: Mapping[str, float] = MappingProxyType({})
    """constants of modules that are made smaller: seconds"""
    quick: dict[str, str] = {}
    """options by which faults that need no patience are noticed at once"""
    waiting: str = ""
    """the option that says how long a silent server is waited for, and its default"""

    def __init__(self, running: Any) -> None:
        self.running = running
        self.tables = MessageTables()
        self.names: list[str] = []

    @abstractmethod
    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        """Of a table of a server. :param password: None: the right one."""

    def make(self, wrong: bool = False) -> str:
        """Make what a table stands for; its name. :param wrong: with something in it that is no number."""
        raise NotImplementedError

    def made(self, wrong: bool = False) -> str:
        """As ``make``; what is said of the name is left out of recordings."""
        self.names.append(self.make(wrong))
        return self.names[-1]

    def written(self, name: str) -> Sequence[tuple[Any, ...]]:
        """What is there, asked without the code that is tested."""
        raise NotImplementedError

    def put(self, name: str, number: int) -> None:
        """Write a row without the code that is tested."""
        raise NotImplementedError

    def close(self) -> None:
        """What was made for this place is not needed any more."""

    @property
    def port(self) -> int:
        return int(self.running.port)

    def table(self, port: int, name: str, password: str | None, columns: str = "", **more: str) -> str:
        given = {"connector": self.connector, **self.options(port, name, password), **more}
        texts = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
        made = f"m_{uuid.uuid4().hex[:10]}"
        self.tables.environment.execute_sql(f"CREATE TABLE {made} ({columns or self.columns}) WITH ({texts})")
        return made

    def use(self, table: str) -> None:
        if self.writes:
            row = self.values.format(1, "'a'")
            self.tables.insert(f"INSERT INTO {table} SELECT {row}", parallelism=1)
        elif self.looks_up:
            self.tables.query(self.look_up(table, "(VALUES (1)) AS n(id)"))
        elif self.unbounded:
            self.tables.some(f"SELECT * FROM {table}", 1)
        else:
            self.tables.query(f"SELECT * FROM {table}")

    def look_up(self, table: str, keys: str) -> str:
        key, compared, value = self.looked_up
        left = f"(SELECT id, PROCTIME() AS p FROM {keys}) AS l"
        return f"SELECT l.id, {value} FROM {left} JOIN {table} FOR SYSTEM_TIME AS OF l.p AS r ON r.{key} = {compared}"

    def meet(self, fault: Fault) -> None:
        with ExitStack() as shorter:
            if fault not in OUTAGES:
                for name, seconds in self.patience.items():
                    shorter.enter_context(patch(f"millrace.{name}", seconds))
            self.meet_it(fault)

    def meet_it(self, fault: Fault) -> None:
        if fault is Fault.REFUSED:
            (port,) = free_ports(1)
            self.use(self.table(port, "t", self.secret, **self.quick))
        elif fault is Fault.HANGS_UP:
            with hanging_up() as port:
                self.use(self.table(port, "t", self.secret, **self.quick))
        elif fault is Fault.SILENT:
            with silent_server() as port:
                self.use(self.table(port, "t", self.secret, **self.quick))
        elif fault is Fault.PASSWORD:
            self.use(self.table(self.port, self.made(), self.secret, **self.quick))
        elif fault is Fault.MISSING:
            self.use(self.table(self.port, "missing", None, **self.quick))
        elif fault is Fault.TYPE:
            self.wrong_type()
        elif fault is Fault.OUTAGE:
            self.outage()
        else:
            self.outage_the_other_way()

    def wrong_type(self) -> None:
        name = self.made(wrong=True)
        if self.wrong_values is not None:
            table = self.table(self.port, name, None, **self.quick)
            self.tables.insert(f"INSERT INTO {table} VALUES {self.wrong_values}", parallelism=1)
        elif self.looks_up:
            self.use(self.table(self.port, name, None, self.wrong_columns))
        elif self.unbounded:
            self.tables.some(f"SELECT * FROM {self.table(self.port, name, None, self.wrong_columns)}", 1)
        else:
            self.tables.query(f"SELECT * FROM {self.table(self.port, name, None, self.wrong_columns)}")

    def outage(self) -> None:
        """The server cannot be reached between two epochs of a job, and a moment later it can."""
        with self.cut_off() as (port, server):
            name = self.made()
            table = self.table(port, name, None)
            if self.looks_up:
                self.look_up_on(table, server)
            elif self.writes:
                self.write_on(table, name, server)
            else:
                self.read_on(table, name, server)

    def outage_the_other_way(self) -> None:
        """The same for a table that is looked up, or written, where that is not what it is tried with otherwise."""
        with self.cut_off() as (port, server):
            name = self.made()
            table = self.table(port, name, None)
            if self.writes:
                rows = ", ".join(f"({self.values.format(number, repr(text))})" for number, text in ROWS)
                self.tables.insert(f"INSERT INTO {table} VALUES {rows}", parallelism=1)
                self.look_up_on(table, server)
            else:
                self.write_on(table, name, server)

    @contextmanager
    def cut_off(self) -> Iterator[tuple[int, Any]]:
        """A port by which the server is reached, and what can be cut and mended."""
        proxy = Proxy()
        proxy.start([self.port])
        try:
            yield proxy.ports[0], proxy
        finally:
            proxy.stop()

    def look_up_on(self, table: str, server: Any) -> None:
        """Look up a key an epoch; the server is cut off between two."""
        with away(server) as cut:
            query = self.look_up(table, self.numbers())
            assert self.tables.some(query, len(ROWS), cut, 1, 1) == ROWS

    def read_on(self, table: str, name: str, server: Any) -> None:
        """Read a row that is there, and one that comes when the server is back."""
        with away(server, lambda: self.put(name, 2)) as cut:
            self.put(name, 1)
            self.tables.some(f"SELECT * FROM {table}", 2, cut)

    def write_on(self, table: str, name: str, server: Any) -> None:
        """Write a row an epoch; the server is cut off between two."""
        row = self.values.format("id", "SUBSTRING('abcd', id, 1)")
        insert = f"INSERT INTO {table} SELECT {row} FROM {self.numbers()}"
        plans = insert_plans(insert, self.tables.environment._session)
        job = replace(self.tables.program(plans, 1).job_graph(), epoch_records=1)
        number = 0
        with away(server) as cut:
            for number, _ in enumerate(LocalEngine(job, lambda: int(time.time() * 1000)).epochs()):
                if number == 1:
                    cut()
        assert number > 1, "the job had one epoch"
        assert sorted(set(self.written(name))) == ROWS

    def numbers(self) -> str:
        """A table of the keys of ROWS; its name."""
        name = f"numbers_{uuid.uuid4().hex[:10]}"
        self.tables.environment.execute_sql(
            f"CREATE TABLE {name} (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '4', "
            f"'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '4')"
        )
        return name


@contextmanager
def away(server: Any, back: Callable[[], None] = lambda: None) -> Iterator[Callable[[], None]]:
    """What cuts a server off for a moment. :param back: called when it can be reached again."""

    def mend() -> None:
        server.mend()
        back()

    def cut() -> None:
        server.cut()
        mending.start()

    mending = threading.Timer(OUTAGE_SECONDS, mend)
    try:
        yield cut
    finally:
        if mending.is_alive():
            mending.join()


@contextmanager
def hanging_up() -> Iterator[int]:
    """The port of a server that ends each connection once it has heard something."""
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            try:
                client, _ = server.accept()
            except OSError:
                return
            with suppress(OSError):
                # What was heard must be read: else the other side sees another kind of end.
                client.settimeout(LISTEN_SECONDS)
                client.recv(1 << 16)
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            client.close()

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            ended.set()
            server.shutdown(socket.SHUT_RDWR)
            thread.join(5)
