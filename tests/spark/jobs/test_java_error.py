"""Failures are what programs of PyFlink catch, and what Millrace's own raise."""

from __future__ import annotations

import pickle

import pytest
from py4j.protocol import Py4JJavaError

from millrace.runtime.failure import Failure, JobFailedError
from millrace.spark.jobs.java_error import as_java_error

FAILURE = Failure("Map", 0, "job.py:3", "ZeroDivisionError: division by zero", location="job.py:3")


def test_it_is_caught_either_way() -> None:
    try:
        raise ValueError("below")
    except ValueError as cause:
        error = JobFailedError(FAILURE, [FAILURE])
        error.__cause__ = cause
    found = as_java_error(error)
    for kind in (Py4JJavaError, JobFailedError):
        with pytest.raises(kind, match="division by zero") as caught:
            raise found
        assert str(caught.value) == str(error)
    assert isinstance(found, JobFailedError)
    assert (found.failure, found.concurrent, found.__cause__) == (FAILURE, (FAILURE,), error.__cause__)
    assert found.java_exception.getMessage() == found.java_exception.toString() == str(error)  # type: ignore[attr-defined]


def test_it_travels() -> None:
    found = pickle.loads(pickle.dumps(as_java_error(JobFailedError(FAILURE))))
    assert isinstance(found, Py4JJavaError)
    assert (str(found), found.failure) == (str(JobFailedError(FAILURE)), FAILURE)


def test_other_errors_stay_what_they_are() -> None:
    error = KeyboardInterrupt()
    assert as_java_error(error) is error
