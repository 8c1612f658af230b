"""A job as it travels to the workers."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from millrace.activate import activate
from millrace.runtime.jobs.job import JobGraph
from millrace.spark.shipping.main_classes import install_main_classes
from millrace.spark.shipping.output import Output
from millrace.spark.shipping.surroundings import Surroundings


@dataclass(frozen=True)
class ShippedJob:
    """What the processes in which a job's tasks run have to know of it."""

    job_id: str
    payload: bytes
    state: str
    """the folder where tasks keep their state"""
    main_classes: bytes
    key_groups: Mapping[str, int] = field(default_factory=dict)
    """uid of an operator -> number of its key groups"""
    surroundings: Surroundings = field(default_factory=Surroundings)
    pyflink: bool = False
    """whether the program's modules import ``pyflink`` and mean Millrace"""
    token: str | None = None
    """what the driver has written into the folder of state; None: nobody has to look whether it is shared"""
    result_files: bool = False
    """whether the driver sees what tasks write into that folder beside their state: results that are many go there"""
    retries: int = 0
    """how often a task that fails in the job's first attempt runs again by itself, see ``failover``"""
    output: Output = field(default_factory=Output)

    def prepare(self) -> None:
        """Make this process able to run what belongs to the job."""
        self.surroundings.enter(self.job_id)
        if self.pyflink:
            activate()
        install_main_classes(self.main_classes)

    def load(self) -> JobGraph:
        """A fresh copy of the job."""
        job: JobGraph = pickle.loads(self.payload)
        return replace(job, cached_files=self.surroundings.files())

    def encode(self) -> bytes:
        return pickle.dumps(self, protocol=5)

    @staticmethod
    def decode(content: bytes) -> ShippedJob:
        """Only for what ``encode`` made in this job's driver."""
        job: ShippedJob = pickle.loads(content)
        return job


def digest(content: bytes) -> str:
    """A short name for a shipped job."""
    return hashlib.sha256(content).hexdigest()[:16]
