"""Which archives a history server keeps: so many of the newest, and none that are older."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millrace.common.config_values import to_duration, to_int

_JOBS, _AGE = "historyserver.archive.retained-jobs", "historyserver.archive.retained-ttl"


@dataclass(frozen=True)
class Retained:
    """Limits; None: there is none."""

    jobs: int | None = None
    millis: int | None = None

    def beyond(self, jobs: Iterable[tuple[int, str]], now: int) -> list[str]:
        """The ids of those that go.

        :param jobs: when they ended (ms since the epoch), and their ids.
        """
        newest = sorted(jobs, reverse=True)
        return [
            id
            for rank, (ended, id) in enumerate(newest)
            if (self.jobs is not None and rank >= self.jobs) or (self.millis is not None and now - ended > self.millis)
        ]


EVERYTHING = Retained()


def retained(options: Mapping[str, str]) -> Retained:
    """What the configuration says: all archives stay unless it says how many, or for how long.

    :raises ValueError: it says nonsense.
    """
    jobs = to_int(options.get(_JOBS, "-1"))
    if jobs == 0 or jobs < -1:
        raise ValueError(f"{_JOBS} is the number of jobs to keep, or -1 for all of them, not {jobs}")
    age = to_duration(options[_AGE]).to_millis() if _AGE in options else None
    if age is not None and age <= 0:
        raise ValueError(f"{_AGE} is how long archives are kept, more than {options[_AGE]}")
    return Retained(None if jobs == -1 else jobs, age)
