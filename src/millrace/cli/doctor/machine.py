"""The machine: memory, folders, names and ports."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing

from millrace.cli.doctor.finding import Finding, bad, good, note

GIGABYTE = 1 << 30
LEAST_MEMORY, LEAST_DISK = 2 * GIGABYTE, 2 * GIGABYTE
"""bytes: below these Spark's JVM and its workers, or what they spill, hardly fit"""


def resources() -> Iterator[Finding]:
    """Processors, memory and room for temporary files."""
    slots = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = _memory()
    text = f"{slots} processors" + (f", {memory / GIGABYTE:.1f} GB of memory" if memory else "")
    if memory and memory < LEAST_MEMORY:
        yield note("Machine", f"{text}: little for a JVM and its workers", "Set spark.driver.memory to a lower value.")
    else:
        yield good("Machine", text)
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    text = f"{folder}: {free / GIGABYTE:.1f} GB free"
    if free < LEAST_DISK:
        yield note("Temporary files", text, "Free some, or set SPARK_LOCAL_DIRS and TMPDIR to another folder.")
    else:
        yield good("Temporary files", text)


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


def folders() -> Iterator[Finding]:
    """The folder in which running jobs register: it must be the user's alone."""
    from millrace.cluster.places.run_folder import run_folder

    try:
        yield good("Folder of running jobs", run_folder())
    except (OSError, RuntimeError, ValueError) as error:
        yield bad("Folder of running jobs", str(error), "Set MILLRACE_RUN_DIR to a folder that only you can write to.")


def names() -> Iterator[Finding]:
    """Whether this machine's name leads to an address: Spark looks it up when it starts."""
    name = socket.gethostname()
    local = os.environ.get("SPARK_LOCAL_IP")
    try:
        yield good("Name of this machine", f"{name} is {socket.gethostbyname(name)}")
    except OSError as error:
        text = f"{name} has no address ({error.strerror or error})"
        if local:
            yield good("Name of this machine", f"{text}; SPARK_LOCAL_IP={local} is used")
        else:
            yield bad("Name of this machine", text, "export SPARK_LOCAL_IP=127.0.0.1, or add the name to /etc/hosts")


def ports() -> Iterator[Finding]:
    """Whether servers may listen on loopback."""
    try:
        with closing(socket.socket()) as made:
            made.bind(("127.0.0.1", 0))
    except OSError as error:
        yield bad("Ports", f"can't listen on 127.0.0.1: {error}", "Allow local sockets: Spark needs them.")
    else:
        yield good("Ports", "servers may listen on 127.0.0.1")
