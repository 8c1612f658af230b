"""A job that a plain Python program hands over to a cluster: ``execution.target: remote``."""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from millrace.cluster.places import run_folder, sockets, submissions
from millrace.cluster.places.descriptions import describe_server
from millrace.cluster.remote.addresses import named_in, same_address
from millrace.cluster.remote.rest_client import RestJobClient
from millrace.cluster.wire.asking import NotThereError, ask
from millrace.datastream.settings.defaults import Portable
from millrace.util.by_value import pickled_by_value

JOB = "job.pickle"
"""File with the job in the folder of a submission."""


class NoClusterError(Exception):
    """There is no cluster to hand a job over to; the text says where one was looked for."""


@dataclass(frozen=True)
class Cluster:
    """A cluster of this user on this machine."""

    folder: str
    url: str
    token: str = field(repr=False)


def hand_over(job: Portable, cluster: Cluster) -> RestJobClient:
    """Submit a job to a cluster: from here on it is the cluster's, whatever becomes of this process."""
    payload = pickled_by_value(job)
    program = submissions.SubmittedProgram(
        job.job_id,
        os.getcwd(),
        job.name,
        environment=dict(os.environ),
        paths=tuple(os.path.abspath(path) for path in sys.path),
        python=sys.prefix,
        submitted=time.time_ns() // 1_000_000,
    )
    submissions.submit(cluster.folder, program, {JOB: payload})
    try:
        path = sockets.socket_path(cluster.folder, sockets.SUPERVISOR)
        ask(path, "the supervisor of the cluster", "submitted", id=job.job_id)
    except NotThereError:
        pass  # it finds the submission when it is there again
    return RestJobClient(job.job_id, cluster.url, cluster.token)


def handed_over(program: str) -> Portable | None:
    """The job in the folder of a program, which only this user can write to; None: it is a program of its own."""
    try:
        with open(os.path.join(program, JOB), "rb") as file:
            found: Portable = pickle.load(file)
    except FileNotFoundError:
        return None
    return found


def clusters() -> list[Cluster]:
    """Those that run and whose server does."""
    found = ((each, describe_server(each.folder)) for each in run_folder.find(run_folder.CLUSTER))
    return [Cluster(each.folder, server.url, each.token) for each, server in found if server is not None]


def cluster_named(configuration: Mapping[str, str]) -> Cluster:
    """The cluster that a configuration names, or the only one that runs.

    :raises NoClusterError: there is none, or it is on another machine.
    """
    named = named_in(configuration)
    found = [each for each in clusters() if named is None or same_address(named, each.url)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NoClusterError("several clusters run: set rest.address and rest.port to those of one")
    if named is None:
        raise NoClusterError("execution.target is remote, and no cluster runs: `millrace cluster start`")
    raise NoClusterError(
        f"execution.target is remote, and no cluster of this user listens at {named} on this machine; nearest for one "
        f"on another: millrace run -m {named} PROGRAM"
    )
