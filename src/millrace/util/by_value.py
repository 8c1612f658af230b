"""Pickles functions and classes with their code, so that processes can unpickle them that cannot import them."""

from __future__ import annotations

import dataclasses
import io
import sys
from types import CodeType, ModuleType
from typing import Any

import cloudpickle

_reduce_code = cloudpickle.Pickler.dispatch_table[CodeType]
_NO_FILE = "<dynamic-code>"


def pickled_by_value(value: Any) -> bytes:
    """``value`` as bytes, with its functions and classes that a worker could not import.

    Raises what cloudpickle raises for values that can't be pickled at all.
    """
    file = io.BytesIO()
    Pickler(file, protocol=5).dump(value)
    return file.getvalue()


def _code_of_its_file(code: CodeType) -> tuple[Any, ...]:
    make, arguments = _reduce_code(code)
    return make, tuple(code.co_filename if each == _NO_FILE else each for each in arguments)


def _missing() -> Any:
    return dataclasses.MISSING


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """cloudpickle's pickler, with two changes: file names of code, and ``dataclasses.MISSING``.

    Code keeps the name of its file, by which errors name the user's line; cloudpickle 3.1.3 drops it, so that pickles
    do
    not depend on where a function was written. cloudpickle also makes a second ``dataclasses.MISSING``, and then no
    field
    of a pickled class lacks a default.
    """

    dispatch_table = cloudpickle.Pickler.dispatch_table.new_child(
        {CodeType: _code_of_its_file, type(dataclasses.MISSING): lambda value: (_missing, ())}
    )

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type) and value.__module__ not in sys.modules:
            holder = _holder(value)
            if holder is not None:
                return getattr, (holder, value.__name__)
        return super().reducer_override(value)


def _holder(cls: type) -> ModuleType | None:
    """An importable module that contains the class, whose own module cannot be imported. Classes of C extensions may
    name any module (``cimpl.Producer`` is in ``confluent_kafka``), and without Python code they cannot be pickled by
    value."""
    modules = [module for name, module in sys.modules.copy().items() if name != "__main__"]
    known = (each for each in modules if isinstance(each, ModuleType))
    return next((each for each in known if vars(each).get(cls.__name__) is cls), None)
