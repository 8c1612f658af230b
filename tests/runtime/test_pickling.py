"""Anything that a program passes around gets through."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from millrace.runtime.storage import dumps


@dataclass
class Known:
    value: int


def test_what_plain_pickle_knows_is_written_by_name():
    assert dumps(Known(1)) == pickle.dumps(Known(1), protocol=5)


def test_a_class_of_a_function_body_travels_by_value():
    @dataclass
    class Local:
        value: int

    assert pickle.loads(dumps([Local(3)]))[0].value == 3


def test_a_function_in_the_data_travels_by_value():
    assert pickle.loads(dumps({"double": lambda x: 2 * x}))["double"](4) == 8


def test_what_nobody_can_pickle_raises():
    with pytest.raises(TypeError, match="generator"):
        dumps(x for x in ())
