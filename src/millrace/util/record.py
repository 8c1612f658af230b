"""Records: frozen dataclasses whose methods are compiled at their first use, not when their module is imported.

``dataclass`` compiles the methods of each class, half a millisecond apiece. A program that imports the Table API would
wait for that of some 300 kinds of syntax and plan nodes, of which a query has twenty.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**facts: Any) -> Any:
        """What a type checker reads of ``Record``; Python 3.10 lacks it."""
        return lambda kind: kind


__all__ = ["Record"]

R = TypeVar("R", bound="Record")

_FIELDS = "__dataclass_fields__"
_COMPILED = "__record_is_compiled__"
"""attribute of a class whose methods are all there; its fields are there before them"""
_compiling = RLock()
"""Threads may ask for the first instances of a class at the same time, as sessions of a gateway do."""


class _FieldsWhenAsked:
    """``__dataclass_fields__`` of a record class that is not compiled yet."""

    def __get__(self, instance: object, owner: type[Record]) -> dict[str, Field[Any]]:
        if owner is Record:
            raise AttributeError(_FIELDS)  # which keeps ``dataclass`` from taking it for a base with fields
        _compile(owner)  # replaces this attribute of the class
        found: dict[str, Field[Any]] = owner.__dict__[_FIELDS]
        return found


@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
class Record:
    """Base of values with named fields that never change; a subclass needs no decorator.

    A subclass is a frozen dataclass in all respects (constructor, ``==``, hash, ``repr``, ``replace``, ``fields``,
    pattern matching, pickling) from the moment of its first instance, or the first ``fields(...)``, on. Until then
    a field that is given as ``field(...)`` is that in the class. Slots and other options of ``dataclass`` need its
    decorator, which works on subclasses, too.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]] = _FieldsWhenAsked()  # type: ignore[assignment]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Its own: it would else find the fields of a base that is compiled already. A class that ``dataclass`` makes
        # once more, for slots, has its fields.
        if _FIELDS not in cls.__dict__:
            cls.__dataclass_fields__ = Record.__dict__[_FIELDS]

    def __new__(cls: type[R], *values: Any, **named: Any) -> R:
        # Python looks for ``__init__`` after this; unpickling and ``copy`` come here as well.
        if _COMPILED not in cls.__dict__:
            _compile(cls)
        return object.__new__(cls)


def _compile(kind: type[Record]) -> None:
    """Compile the dataclass methods of a class and its bases, bases first."""
    with _compiling:
        for each in reversed(kind.__mro__):
            if issubclass(each, Record) and each is not Record and _COMPILED not in each.__dict__:
                # A class with the decorator is compiled since it was made.
                if isinstance(each.__dict__[_FIELDS], _FieldsWhenAsked):
                    dataclass(frozen=True)(each)
                setattr(each, _COMPILED, True)
