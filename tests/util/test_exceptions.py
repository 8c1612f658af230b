"""Exceptions that programs catch by name."""

from __future__ import annotations

import pickle

import pytest

from millrace.util import exceptions


@pytest.mark.parametrize("name", exceptions.__all__)
def test_each_is_a_java_exception_that_shows_its_text_and_pickles(name: str) -> None:
    error = getattr(exceptions, name)("no such thing: x")
    assert isinstance(error, exceptions.JavaException)
    assert str(error) == error.stack_trace == "no such thing: x"
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (type(error), "no such thing: x")


def test_pyflinks_names() -> None:
    assert len(exceptions.__all__) == 16
    assert not issubclass(exceptions.TableException, exceptions.CatalogException)
