"""Functions that travel keep what an error needs to name the user's line."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import confluent_kafka
import pytest

from millrace.checkpoint.classes import fields_of
from millrace.util.by_value import pickled_by_value


def test_code_keeps_the_name_of_its_file_in_every_depth() -> None:
    read = pickle.loads(pickled_by_value(lambda value: lambda: value))
    assert (read.__code__.co_filename, read(1).__code__.co_filename) == (__file__, __file__)
    assert read(1)() == 1


def test_a_constant_of_the_code_stays_what_it_is() -> None:
    assert pickle.loads(pickled_by_value(lambda: "<dynamic-code>"))() == "<dynamic-code>"


def local_dataclass() -> Any:
    @dataclasses.dataclass
    class Account:
        owner: str
        currency: str = "EUR"
        notes: list[str] = dataclasses.field(default_factory=list)

    return Account


def test_a_dataclass_that_travels_knows_which_fields_have_defaults() -> None:
    """In another process: in this one cloudpickle finds the class that it has written."""
    program = (
        "import pickle, sys, dataclasses; from millrace.checkpoint.classes import fields_of; "
        "read = pickle.loads(sys.stdin.buffer.read()); found = fields_of(read); "
        "print(found['owner'], found['currency'](), found['notes'](), "
        "dataclasses.fields(read)[0].default is dataclasses.MISSING)"
    )
    written = pickled_by_value(local_dataclass())
    done = subprocess.run([sys.executable, "-c", program], input=written, stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().split() == ["None", "EUR", "[]", "True"]
    assert fields_of(local_dataclass())["owner"] is None


@pytest.mark.parametrize("name", ["Producer", "TopicPartition", "KafkaException", "Consumer"])
def test_a_class_of_c_whose_module_cannot_be_imported_is_found_where_it_is(name: str) -> None:
    cls = getattr(confluent_kafka, name)
    assert cls.__module__ not in sys.modules, "else there is nothing to see here"

    def made() -> Any:
        return cls

    program = (
        "import pickle, sys; made = pickle.loads(sys.stdin.buffer.read()); import confluent_kafka; "
        f"print(made() is confluent_kafka.{name})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=pickled_by_value(made), stdout=subprocess.PIPE, check=True
    )
    assert done.stdout.split() == [b"True"]
