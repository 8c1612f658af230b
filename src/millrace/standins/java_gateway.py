"""``pyflink.java_gateway``, ``pyflink_gateway_server`` and ``find_flink_home`` without a JVM.

The gateway gives the classes here that stand in for classes of Java, by their names there. What only Java could do is a
``NoJavaError``. There is no server, and no home of Flink to find.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any, NoReturn

from millrace.common.configuration import Configuration
from millrace.common.execution_config import ExecutionConfig
from millrace.table.catalog import GenericInMemoryCatalog, ObjectPath
from millrace.table.functions import function_catalog

__all__ = ["JavaPackage", "StandInGateway", "get_gateway", "is_launch_gateway_disabled"]


class NoJavaError(NotImplementedError):
    """A program uses a class or object of Java that has no stand-in here.

    :param what: named as in Java.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            f"there is no JVM behind Millrace, and nothing here stands in for {what}: "
            "use the Python API, or see docs/differences.md"
        )


class JavaConfiguration:
    """A Configuration with Java's method names; shares the settings of the Configuration that it wraps, or has its
    own."""

    def __init__(self, of: Configuration | None = None) -> None:
        self._configuration = Configuration() if of is None else of

    @property
    def python(self) -> Configuration:
        """The wrapped Configuration, with Python's method names."""
        return self._configuration

    def setString(self, key: Any, value: str) -> None:
        self._configuration.set_string(_key(key), value)

    def setInteger(self, key: Any, value: int) -> None:
        self._configuration.set_integer(_key(key), value)

    def setLong(self, key: Any, value: int) -> None:
        self._configuration.set_integer(_key(key), value)

    def setBoolean(self, key: Any, value: bool) -> None:
        self._configuration.set_boolean(_key(key), value)

    def setDouble(self, key: Any, value: float) -> None:
        self._configuration.set_float(_key(key), value)

    def getString(self, key: Any, default: str | None = None) -> str | None:
        name = _key(key)
        return self._configuration.get_string(name, "") if self._configuration.contains_key(name) else default

    def getInteger(self, key: Any, default: int) -> int:
        return self._configuration.get_integer(_key(key), default)

    def getLong(self, key: Any, default: int) -> int:
        return self._configuration.get_integer(_key(key), default)

    def getBoolean(self, key: Any, default: bool) -> bool:
        return self._configuration.get_boolean(_key(key), default)

    def getDouble(self, key: Any, default: float) -> float:
        return self._configuration.get_float(_key(key), default)

    def getValue(self, option: Any) -> str | None:
        """The text of an option's value, else of its default."""
        found = self.getString(option.key())
        default = option.defaultValue()
        return found if found is not None else None if default is None else str(default)

    def containsKey(self, key: str) -> bool:
        return self._configuration.contains_key(key)

    def keySet(self) -> set[str]:
        return set(self._configuration.key_set())

    def toMap(self) -> dict[str, str]:
        return self._configuration.to_dict()

    def addAll(self, other: JavaConfiguration) -> None:
        self._configuration.add_all(other.python)

    def toString(self) -> str:
        return str(self._configuration)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NoJavaError(f"org.apache.flink.configuration.Configuration.{name}()")


def _key(key: Any) -> str:
    """The key of an option or of a text, since Java's methods accept options, too."""
    return key if isinstance(key, str) else str(key.key())


@dataclass(frozen=True)
class JavaOption:
    """An option, identified by its key."""

    name: str
    default: Any = None

    def key(self) -> str:
        return self.name

    def defaultValue(self) -> Any:
        return self.default

    def hasDefaultValue(self) -> bool:
        return self.default is not None


class DeploymentOptions:
    """Options of where programs run."""

    TARGET = JavaOption("execution.target")


class ExecutionOptions:
    """Options of how programs run."""

    RUNTIME_MODE = JavaOption("execution.runtime-mode", "STREAMING")


class PythonOptions:
    """Options of Python functions."""

    PYTHON_ARCHIVES = JavaOption("python.archives")
    PYTHON_CLIENT_EXECUTABLE = JavaOption("python.client.executable", "python")
    PYTHON_EXECUTABLE = JavaOption("python.executable", "python")
    PYTHON_FILES = JavaOption("python.files")
    PYTHON_REQUIREMENTS = JavaOption("python.requirements")


class TableConfigOptions:
    """Options of a session's first catalog and database."""

    TABLE_CATALOG_NAME = JavaOption("table.builtin-catalog-name", "default_catalog")
    TABLE_DATABASE_NAME = JavaOption("table.builtin-database-name", "default_database")


class CoreModule:
    """The core module, of which Java has one object."""

    INSTANCE = function_catalog.CoreModule()


class ClassLoader:
    """Finds the stand-in for a Java class."""

    def loadClass(self, name: str) -> Any:
        """:raises NoJavaError: nothing does."""
        return stand_in(name)


class Thread:
    """The only thread of the missing JVM; it has a class loader."""

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


_FLINK = "org.apache.flink."
_CLASSES: dict[str, type] = {
    "java.lang.Thread": Thread,
    f"{_FLINK}api.common.ExecutionConfig": ExecutionConfig,
    f"{_FLINK}configuration.Configuration": JavaConfiguration,
    f"{_FLINK}configuration.DeploymentOptions": DeploymentOptions,
    f"{_FLINK}configuration.ExecutionOptions": ExecutionOptions,
    f"{_FLINK}python.PythonOptions": PythonOptions,
    f"{_FLINK}table.api.config.TableConfigOptions": TableConfigOptions,
    f"{_FLINK}table.catalog.GenericInMemoryCatalog": GenericInMemoryCatalog,
    f"{_FLINK}table.catalog.ObjectPath": ObjectPath,
    f"{_FLINK}table.module.CoreModule": CoreModule,
}
"""Java's name -> the class here. Some are classes of Millrace itself, whose constants and factories are the same
in both languages."""
_BY_SIMPLE_NAME = {name.rpartition(".")[2]: name for name in _CLASSES}


def stand_in(name: str) -> Any:
    """The class that stands in for one of Java, by its full name.

    :raises NoJavaError: there is none.
    """
    found = _CLASSES.get(name)
    if found is None:
        raise NoJavaError(name)
    return found


def stand_in_by_simple_name(name: str) -> Any:
    """The stand-in for a Java class, by its simple name, as in PyFlink's view of the JVM.

    :raises NoJavaError: there is none.
    """
    return stand_in(_BY_SIMPLE_NAME.get(name, name))


class JavaPackage:
    """A prefix of a Java name, as in ``jvm.org.apache``: the first part with a capital letter names a class."""

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
    """The root of Java's names: packages, and classes that PyFlink also offers by their simple name."""

    def __getattr__(self, part: str) -> Any:
        if part.startswith("__"):
            raise AttributeError(part)
        return stand_in_by_simple_name(part) if part[:1].isupper() else JavaPackage(part)


class StandInGateway:
    """The gateway, which ``get_gateway()`` returns. It has no connection and no process."""

    def __init__(self) -> None:
        self.jvm = StandInView()

    def new_array(self, j_type: Any, *dimensions: int) -> list[Any]:
        """A Java array as a list, filled with None."""
        if not dimensions:
            raise TypeError("an array needs at least one dimension")
        first, *others = dimensions
        return [self.new_array(j_type, *others) if others else None for _ in range(first)]


_GATEWAY = StandInGateway()


def get_gateway() -> StandInGateway:
    """The gateway of this process; always the same object."""
    return _GATEWAY


def is_launch_gateway_disabled() -> bool:
    """Whether PyFlink would refuse to start a JVM in this process."""
    return os.environ.get("PYFLINK_GATEWAY_DISABLED", "0").lower() not in ("0", "false", "")


def on_windows() -> bool:
    """Whether this is Windows, or Python for Cygwin."""
    return sys.platform.startswith(("win", "cygwin"))


def _find_flink_home() -> NoReturn:
    """:raises NoJavaError: always."""
    raise NoJavaError("FLINK_HOME, the folder of a Flink distribution")


def _find_flink_source_root() -> NoReturn:
    """:raises NoJavaError: always."""
    raise NoJavaError("the folder of Flink's sources")
