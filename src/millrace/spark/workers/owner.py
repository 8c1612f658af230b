"""An owner: the process in which subtasks of one job live on this machine, with state, functions, readers, writers.

Each run of a task comes as an open connection from the keeper and is served by a thread of its own; so are all runs of
a task that stays.

A call that holds the interpreter stops all threads, those that answer questions about the process, too. So a thread
says again and again that it still runs. When it has not for a while, a timer outside the interpreter writes where all
threads are to the process's log: the function that does not let go is on top of its task's operator.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import socket
import sys
import threading
import time
from typing import Any

from millrace.runtime.failure import describe, full_traceback
from millrace.spark.workers import shipping
from millrace.spark.workers.frames import (
    ENDED,
    Begun,
    Call,
    Done,
    Failed,
    Forget,
    Imported,
    Join,
    Moved,
    NeedJob,
    Passed,
    Request,
    Shipped,
    Stay,
    Unreached,
    Watched,
    receive,
    send,
)
from millrace.spark.workers.inspection import tell
from millrace.spark.workers.pipe import BatchWriter, ExactReader, read_batches
from millrace.spark.workers.processes import own_modules
from millrace.spark.workers.running_tasks import Running, stay
from millrace.spark.workers.stage import connect, connect_owner
from millrace.util.system import this_machine
from millrace.util.threads import JobThread

HELD_SECONDS = 30.0
_BEAT_SECONDS = 5.0


def watch_interpreter(seconds: float = HELD_SECONDS, beat: float = _BEAT_SECONDS, log: Any = None) -> None:
    """Write stacks once the interpreter was held for so long, and again each time that it was held for as long again.

    :param log: a file with a descriptor; None: standard error.
    """
    target = sys.stderr if log is None else log
    try:
        target.fileno()
    except (OSError, ValueError, AttributeError):
        return  # nowhere to write to without the interpreter

    def run() -> None:
        while True:
            faulthandler.dump_traceback_later(seconds, repeat=True, file=target)
            time.sleep(beat)

    JobThread(target=run, name="millrace-held", daemon=True).start()


REQUEST_SECONDS = 10.0
"""Seconds that an owner waits for a request on an inspection connection, and for sending its answer."""


def serve(control: socket.socket, job_id: str, keeper: str) -> None:
    """Serve the runs that the keeper passes on, until it says that the job is over, or is gone itself.

    :param keeper: the path of its socket.
    """
    known = own_modules()
    _limit_memory()
    watch_interpreter()
    running = Running(f"{this_machine()}-{os.getpid()}")
    running.folder = os.path.dirname(keeper)
    threads: list[threading.Thread] = []
    while True:
        try:
            message, files = receive(control)
        except (EOFError, OSError):
            return  # without its keeper an owner would not be found any more
        if isinstance(message, Forget):
            running.forget(job_id)
            for thread in threads:
                thread.join()  # it closes its task; the keeper's patience has an end
            _tell_imports(keeper, own_modules() - known)
            return
        if isinstance(message, Moved):
            running.moved(job_id, message.task)
            continue
        if isinstance(message, Watched):
            watcher = socket.socket(fileno=files[0])
            JobThread(target=_show, args=(watcher,), name="millrace-show", daemon=True).start()
            continue
        assert isinstance(message, Passed)
        connection = socket.socket(fileno=files[0])
        thread = JobThread(target=_run, args=(connection, control, message.number, running), daemon=True)
        threads = [*(other for other in threads if other.is_alive()), thread]
        thread.start()


def _run(connection: socket.socket, control: socket.socket, number: int, running: Running) -> None:
    with connection:
        answer: Done | Failed | Unreached | None = None
        try:
            answer = _serve(connection, running)
        finally:
            # Before the worker hears of it: by then a newer run would take this one for one that hangs.
            _tell_end(control, number)
        if answer is not None:
            with contextlib.suppress(OSError):
                send(connection, answer)


def _show(connection: socket.socket) -> None:
    """Answer a request about the threads of this process."""
    with connection, contextlib.suppress(OSError, EOFError):
        connection.settimeout(REQUEST_SECONDS)
        request, _ = receive(connection)
        assert isinstance(request, Request)
        send(connection, Begun())
        send(connection, tell(request))


def _tell_imports(keeper: str, modules: set[str]) -> None:
    """Tell the keeper which modules were imported, so that it imports them before it forks owners of the next job."""
    if modules:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(keeper)
            send(connection, Imported(tuple(modules)))


def _tell_end(control: socket.socket, number: int) -> None:
    try:
        control.sendall(ENDED.pack(number))
    except OSError:
        os._exit(0)  # the keeper is gone


def _serve(connection: socket.socket, running: Running) -> Done | Failed | Unreached | None:
    """Serve one run and return the answer to the worker; None if the worker was killed, so that the answer has no
    reader."""
    files: list[int] = []
    try:
        call, files = receive(connection)
        assert isinstance(call, (Call, Stay, Join))
        if not running.knows(call.job):
            send(connection, NeedJob())
            shipped, _ = receive(connection)
            assert isinstance(shipped, Shipped)
            try:
                _take(call, shipped, running)
            except Exception as error:
                return Failed(full_traceback(error), begun=False)
        if isinstance(call, Call):
            (file,) = files
            send(connection, Begun())
            return _work(call, file, running)
        try:
            to = call.address
            driver = connect(to, call.task) if isinstance(call, Stay) else connect_owner(to, call.owner)
        except OSError as error:
            return Unreached(f"{to.host}:{to.port}: {describe(error)}")
        with contextlib.closing(driver):
            send(connection, Begun())
            if isinstance(call, Stay):
                stay(call, driver, running)
            else:
                from millrace.spark.workers.flow_owner import flow

                flow(call, driver, running)
        return Done()
    except (EOFError, OSError):
        return None
    finally:
        for file in files:
            os.close(file)


def _take(call: Call | Stay | Join, shipped: Shipped, running: Running) -> None:
    """Get to know the job, and what Spark's workers know of this executor."""
    sys.path.extend(path for path in shipped.paths if path not in sys.path)
    shipping.use_spark_directory(call.spark_files)
    running.take(call.job, shipped.payload)


def _work(call: Call, file: int, running: Running) -> Done | Failed:
    reader, writer = ExactReader(file, call.prefix), BatchWriter(file, call.wrapped)
    try:
        writer.write_all(running.run(call.job, call.run, call.order, read_batches(reader)))
        return Done(reader.consumed)
    except BaseException as error:
        return Failed(full_traceback(error), writer.begun)


def _limit_memory() -> None:
    """The limit that Spark sets for its Python workers (``spark.executor.pyspark.memory``) holds here too."""
    limit = int(os.environ.get("PYSPARK_EXECUTOR_MEMORY_MB", "-1"))
    if limit <= 0:
        return
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit << 20, limit << 20))
    except (ImportError, OSError, ValueError):
        return  # a system without such limits, as in Spark's own workers
