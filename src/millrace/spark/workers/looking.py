"""Asks the owners on an executor's machine what their threads do; the answers travel as rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

import pyarrow as pa

from millrace.spark.owners.frames import Request, Sampled, TaskPosition, Told
from millrace.spark.owners.looks import look

SCHEMA = "told string"


@dataclass(frozen=True)
class Looking:
    """A function for ``mapInArrow``: one row for each owner that the machine has."""

    job_id: str
    request: Request

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        answers = [json.dumps(asdict(told)) for told in look(self.job_id, self.request)]
        yield pa.RecordBatch.from_arrays([pa.array(answers, type=pa.string())], ["told"])


def parse(text: str) -> Told:
    """An answer out of its row."""
    told = json.loads(text)
    samples = tuple(
        Sampled((each["task"][0], each["task"][1]), each["on_cpu"], tuple(each["frames"]), each["count"])
        for each in told["samples"]
    )
    threads = tuple((name, stack) for name, stack in told["stacks"])
    positions = tuple(
        TaskPosition(**{**each, "task": (each["task"][0], each["task"][1])}) for each in told["positions"]
    )
    return Told(told["host"], told["executor"], told["pid"], threads, samples, positions)
