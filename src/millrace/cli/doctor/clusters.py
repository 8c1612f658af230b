"""Looks at the configuration files and at the cluster that they name."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping

from millrace.cli.doctor.finding import Finding, bad, good, note
from millrace.cluster.remote.addresses import named_in

SECONDS = 5
"""how long a cluster has to answer"""


def configuration() -> Iterator[Finding]:
    """The configuration files: whether they can be read, and keys in them that have no effect."""
    from millrace.configuration.files import configuration_directory, read_directory
    from millrace.configuration.registry import find, known_names
    from millrace.util.similar import did_you_mean

    directory, sure = configuration_directory()
    if directory is None:
        yield good("Configuration", "no files; defaults hold")
        return
    try:
        settings = read_directory(directory, sure)
    except (OSError, ValueError, RuntimeError) as error:
        yield bad("Configuration", str(error), f"Correct the file in {directory}.")
        return
    unknown = [key for key in settings if not key.startswith("spark.") and find(key) is None]
    yield good("Configuration", f"{len(settings)} settings in {directory}")
    for key in unknown:
        yield note("Configuration", f"nothing reads '{key}'{did_you_mean(key, known_names())}")
    yield from cluster(settings)


def cluster(settings: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the cluster that jobs are sent to answers; nothing if none is named."""
    host = settings.get("rest.address")
    if not host:
        return
    port = int((named_in(settings) or "").rpartition(":")[2])
    try:
        socket.create_connection((host, port), timeout=SECONDS).close()
    except OSError as error:
        text = f"nothing answers at {host}:{port} ({error.strerror or error})"
        yield note("Cluster", text, "millrace cluster start, there; or correct rest.address and rest.port")
    else:
        yield good("Cluster", f"{host}:{port} answers")
