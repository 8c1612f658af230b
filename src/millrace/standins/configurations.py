"""A configuration with the names that Java's has."""

from __future__ import annotations

from typing import Any

from millrace.common.configuration import Configuration
from millrace.standins.no_java import NoJavaError

__all__ = ["JavaConfiguration"]


class JavaConfiguration:
    """Reads and changes the same settings as the Configuration that it was made of, or settings of its own."""

    def __init__(self, of: Configuration | None = None) -> None:
        self._configuration = Configuration() if of is None else of

    @property
    def python(self) -> Configuration:
        """The same settings with the names of Python."""
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
    """Java takes options, too."""
    return key if isinstance(key, str) else str(key.key())
