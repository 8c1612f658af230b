"""Functions that travel keep what an error needs to name the user's line."""

from __future__ import annotations

import pickle

from millrace.util.by_value import pickled_by_value


def test_code_keeps_the_name_of_its_file_in_every_depth() -> None:
    read = pickle.loads(pickled_by_value(lambda value: lambda: value))
    assert (read.__code__.co_filename, read(1).__code__.co_filename) == (__file__, __file__)
    assert read(1)() == 1


def test_a_constant_of_the_code_stays_what_it_is() -> None:
    assert pickle.loads(pickled_by_value(lambda: "<dynamic-code>"))() == "<dynamic-code>"
