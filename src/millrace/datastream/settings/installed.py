"""Whether what a job needs is installed here: seen before Spark starts."""

from __future__ import annotations

from millrace.connectors.extras import missing_extra
from millrace.runtime.jobs.job import JobGraph


def check_installed(job: JobGraph) -> None:
    """:raises ImportError: a source or sink of a job needs a package that is not installed."""
    for info in job.operators:
        for part in vars(info.spec).values():
            missing = missing_extra(part)
            if missing is not None:
                made = f", made at {info.origin}," if info.origin else ""
                raise ImportError(f"operator {info.name!r}{made} {missing}")
