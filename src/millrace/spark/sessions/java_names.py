"""Classes of Java by name, which a driver asks its JVM for once.

Py4j asks each time a name is used, and for a class in a package also for each part of the package's name. The JVM looks
for each of these in every package that PySpark imports, in 280 jars, some dozen times for a small batch query.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaGateway, JVMView


class KnownNames(JVMView):  # type: ignore[misc]  # py4j has no types
    """A view of a JVM that remembers the classes that it has found. Other answers it does not remember: a name that
    stands for a package is that of a class when its jar has been added."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, JavaClass):
            self.__dict__[name] = found
        return found


def remember_names(gateway: JavaGateway) -> KnownNames:
    """Give a gateway a view that remembers classes, with the imports of the view that it has.

    :returns: the view, which is now ``gateway.jvm``.
    """
    if not isinstance(gateway.jvm, KnownNames):
        gateway.jvm = KnownNames(gateway._gateway_client, gateway.jvm._jvm_name, gateway.jvm._id)
    view: KnownNames = gateway.jvm
    return view


def java_class(jvm: Any, name: str) -> Any:
    """A class by its full name, as ``java.util.Properties``: one question, not one for each part of the name.

    :param jvm: the view of the JVM, ``session._jvm``.
    """
    return getattr(jvm, name)
