"""Every public class and function has an example that runs, the methods that programs use most are in one, and every
method says what it does."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.site_pages import public
from scripts.site_pages.public import Public
from tests.local_jobs import run_jobs_locally
from tests.reference.examples import FLAGS, docstrings_of, examples_of
from tests.reference.most_used import LIST, NUMBER

from millrace.connectors.tables.values_table import clear_values

_SHOWN = re.compile(r"(?:\.|\bdef )([a-zA-Z_]\w*)\b")
_NOT_HERE = {
    "from_spark": "it needs Spark",
    "to_spark": "it needs Spark",
    "live": "it shows itself in a notebook until it is stopped",
    "parts": "a part of a source that only the engine calls",
    "split_reader": "a part of a source that only the engine calls",
    "stop_with_savepoint": "the job has to run on Spark",
}
"""method -> why no example of it runs without Spark; the guides have them"""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    run_jobs_locally(monkeypatch)
    yield
    clear_values()


@pytest.mark.parametrize("name", [name for name in public.names() if any(docstrings_of(name))], ids=str)
def test_examples_print_what_they_say(name: Public, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    problems: list[str] = []
    for number, example in enumerate(examples_of(name)):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(example, out=problems.append)
    assert not problems, "".join(problems)


def test_every_class_and_function_has_an_example() -> None:
    without = [str(name) for name in public.names() if ">>> " not in (name.found.__doc__ or "")]
    assert not without


def test_the_methods_that_are_used_most_are_in_examples() -> None:
    shown = {used for name in public.names() for _, text in docstrings_of(name) for used in _SHOWN.findall(text)}
    methods = LIST.read_text("utf-8").split()
    assert len(methods) == NUMBER
    assert [method for method in methods if method not in shown | _NOT_HERE.keys()] == []


def test_every_method_says_what_it_does() -> None:
    silent = [f"{name}.{method}" for name in public.names() for method in name.methods if not _said(name, method)]
    assert not silent


def _said(name: Public, method: str) -> str:
    """The docstring of a method, or the one that it inherits."""
    return name.methods[method].__doc__ or inspect.getdoc(getattr(name.found, method)) or ""
