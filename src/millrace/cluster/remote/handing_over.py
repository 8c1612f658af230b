"""A job that a plain Python program hands over to a cluster: ``execution.target: remote``."""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import cloudpickle

from millrace.cluster.places import run_folder, sockets, submissions
from millrace.cluster.places.descriptions import describe_server
from millrace.cluster.remote.addresses import same_address
from millrace.cluster.remote.rest_client import RestJobClient
from millrace.cluster.wire.asking import NotThereError, ask
from millrace.runtime.jobs.job import JobGraph
from millrace.spark.jobs.submit import JobSettings

JOB = "job.pickle"
"""File with the job in the folder of a submission."""


class NoClusterError(Exception):
    """There is no cluster to hand a job over to; the text says where one was looked for."""


def hand_over(job: JobGraph, settings: JobSettings) -> RestJobClient:
    """Submit a job to the cluster of this user that the configuration names, or the only one that runs.

    :raises NoClusterError: there is none, or it is on another machine.
    """
    folder, url, token = _cluster(settings.configuration)
    payload = cloudpickle.dumps((job, replace(settings, spark=None)))
    program = submissions.SubmittedProgram(
        job.job_id,
        os.getcwd(),
        job.name,
        environment=dict(os.environ),
        paths=tuple(os.path.abspath(path) for path in sys.path),
        python=sys.prefix,
        submitted=time.time_ns() // 1_000_000,
    )
    submissions.submit(folder, program, {JOB: payload})
    try:
        path = sockets.socket_path(folder, sockets.SUPERVISOR)
        ask(path, "the supervisor of the cluster", "submitted", id=job.job_id)
    except NotThereError:
        pass  # it finds the submission when it is there again
    return RestJobClient(job.job_id, url, token)


def handed_over(program: str) -> tuple[JobGraph, JobSettings] | None:
    """The job in the folder of a program, which only this user can write to; None: it is a program of its own."""
    try:
        with open(os.path.join(program, JOB), "rb") as file:
            found: tuple[JobGraph, JobSettings] = pickle.load(file)
    except FileNotFoundError:
        return None
    return found


def _cluster(configuration: Mapping[str, str]) -> tuple[str, str, str]:
    host, port = configuration.get("rest.address"), configuration.get("rest.port")
    named = f"{host or 'localhost'}:{port or 8081}" if host or port else None
    found: list[tuple[str, str, str]] = []
    for each in run_folder.find(run_folder.CLUSTER):
        server: Any = describe_server(each.folder)
        if server is not None and (named is None or same_address(named, server.url)):
            found.append((each.folder, server.url, each.token))
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
