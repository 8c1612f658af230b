"""``pyflink.java_gateway``: a gateway without a JVM, which gives what stands in for a class of Java."""

from __future__ import annotations

import os
from typing import Any

from millrace.standins.class_names import stand_in, stand_in_by_simple_name
from millrace.standins.no_java import NoJavaError

__all__ = ["JavaPackage", "StandInGateway", "get_gateway", "is_launch_gateway_disabled"]


class JavaPackage:
    """The start of a name of Java, as in ``jvm.org.apache``: the first part that has a capital letter names a class."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, part: str) -> Any:
        if part.startswith("__"):
            raise AttributeError(part)
        name = f"{self._name}.{part}"
        return stand_in(name) if part[:1].isupper() else JavaPackage(name)

    def __call__(self, *args: Any) -> Any:
        raise NoJavaError(self._name)

    def __repr__(self) -> str:
        return f"JavaPackage({self._name})"


class StandInView:
    """The names of Java: packages, and classes that PyFlink gives by their last name, too."""

    def __getattr__(self, part: str) -> Any:
        if part.startswith("__"):
            raise AttributeError(part)
        return stand_in_by_simple_name(part) if part[:1].isupper() else JavaPackage(part)


class StandInGateway:
    """What ``get_gateway()`` gives. No connection, no process."""

    def __init__(self) -> None:
        self.jvm = StandInView()

    def new_array(self, j_type: Any, *dimensions: int) -> list[Any]:
        """An array of Java, as a list: None in each place."""
        if not dimensions:
            raise TypeError("an array needs at least one dimension")
        first, *others = dimensions
        return [self.new_array(j_type, *others) if others else None for _ in range(first)]


_GATEWAY = StandInGateway()


def get_gateway() -> StandInGateway:
    """The same one each time."""
    return _GATEWAY


def is_launch_gateway_disabled() -> bool:
    """Whether PyFlink would refuse to start a JVM in this process."""
    return os.environ.get("PYFLINK_GATEWAY_DISABLED", "0").lower() not in ("0", "false", "")
