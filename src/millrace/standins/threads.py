"""``Thread.currentThread()`` and its class loader, which tests of connectors keep and give back."""

from __future__ import annotations

from typing import Any

from millrace.standins.class_names import stand_in

__all__ = ["ClassLoader", "Thread"]


class ClassLoader:
    """Finds what stands in for a class of Java."""

    def loadClass(self, name: str) -> Any:
        """:raises NoJavaError: nothing does."""
        return stand_in(name)


class Thread:
    """The one thread of a Java that is not there. It has a class loader."""

    _current: Thread | None = None

    def __init__(self) -> None:
        self._loader = ClassLoader()

    @staticmethod
    def currentThread() -> Thread:
        if Thread._current is None:
            Thread._current = Thread()
        return Thread._current

    def getContextClassLoader(self) -> ClassLoader:
        return self._loader

    def setContextClassLoader(self, loader: ClassLoader) -> None:
        """:raises TypeError: it is none of ``getContextClassLoader()``."""
        if not isinstance(loader, ClassLoader):
            raise TypeError(f"a class loader is expected, not {loader!r}")
        self._loader = loader
