"""Fields of messages and columns: which fit, and how values go from one to the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.formats.tables.problems import NoForm
from millrace.relational import types as t
from millrace.relational.type_table import Family, family_of, parts_of
from millrace.relational.types import DataType

_KINDS = {
    "BOOL": (Family.BOOLEAN,),
    "STRING": (Family.TEXT,),
    "BYTES": (Family.BYTES,),
    "INT32": ("INT",),
    "SINT32": ("INT",),
    "SFIXED32": ("INT",),
    "UINT32": ("INT", "BIGINT"),
    "FIXED32": ("INT", "BIGINT"),
    "INT64": ("BIGINT",),
    "SINT64": ("BIGINT",),
    "SFIXED64": ("BIGINT",),
    "UINT64": ("BIGINT",),
    "FIXED64": ("BIGINT",),
    "FLOAT": ("FLOAT",),
    "DOUBLE": ("DOUBLE",),
    "ENUM": (Family.TEXT, "INT"),
}
_SIGNED = {"UINT32": 32, "FIXED32": 32, "UINT64": 64, "FIXED64": 64}
"""kinds without a sign: Java, and so a table, takes their bits for a number with one"""

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class Field:
    """
    :ivar read: gives the column's value of a message.
    :ivar write: sets a value that is not NULL.
    """

    name: str
    type: DataType
    read: Convert
    write: Callable[[Any, Any], None]


def fields_of(descriptor: Any, columns: Sequence[tuple[str, DataType]], defaults: bool, null_text: str) -> list[Field]:
    """Fields for columns of the same names.

    :raises NoForm: a column without field, or of a type that the field does not have.
    """
    found = []
    for name, kind in columns:
        field = descriptor.fields_by_name.get(name)
        if field is None:
            known = ", ".join(descriptor.fields_by_name) or "none"
            raise NoForm(f"message {descriptor.full_name} has no field '{name}'; it has {known}")
        try:
            found.append(_field(field, name, kind, defaults, null_text))
        except NoForm as error:
            raise NoForm(f"column '{name}': {error}") from error
    return found


def _kind(field: Any) -> str:
    names = {getattr(field, each): each[5:] for each in dir(type(field)) if each.startswith("TYPE_")}
    return str(names[field.type])


def _repeated(field: Any) -> bool:
    told = getattr(field, "is_repeated", None)
    return bool(told) if told is not None else bool(field.label == field.LABEL_REPEATED)


def _field(field: Any, name: str, kind: DataType, defaults: bool, null_text: str) -> Field:
    if _repeated(field):
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            return _map(field, name, kind, defaults, null_text)
        return _list(field, name, kind, defaults, null_text)
    one = _One(field, kind, defaults, null_text)

    def read(message: Any) -> Any:
        # Where a message does not tell whether a field is set, it has its default.
        if field.has_presence and not message.HasField(name) and (one.is_message or not defaults):
            return None
        return one.read(getattr(message, name))

    def write(message: Any, value: Any) -> None:
        if one.is_message:
            getattr(message, name).SetInParent()
            one.fill(getattr(message, name), value)
        else:
            setattr(message, name, one.write(value))

    return Field(name, kind, read, write)


def _list(field: Any, name: str, kind: DataType, defaults: bool, null_text: str) -> Field:
    if not isinstance(kind, t.ArrayType):
        raise NoForm(f"the field is repeated, so its type is ARRAY, not {kind}")
    one = _One(field, parts_of(kind)[0], defaults, null_text)

    def write(message: Any, value: Any) -> None:
        into = getattr(message, name)
        for each in value:
            if one.is_message:
                one.fill(into.add(), each or {})
            else:
                into.append(one.write(each))

    return Field(name, kind, lambda message: [one.read(each) for each in getattr(message, name)], write)


def _map(field: Any, name: str, kind: DataType, defaults: bool, null_text: str) -> Field:
    if not isinstance(kind, t.MapType):
        raise NoForm(f"the field is a map, so its type is MAP, not {kind}")
    entry = field.message_type.fields_by_name
    of_key, of_value = parts_of(kind)
    key = _One(entry["key"], of_key, defaults, null_text)
    value = _One(entry["value"], of_value, defaults, null_text)

    def read(message: Any) -> Any:
        return [(key.read(each), value.read(part)) for each, part in getattr(message, name).items()]

    def write(message: Any, pairs: Any) -> None:
        into = getattr(message, name)
        for each, part in pairs:
            if value.is_message:
                value.fill(into[key.write(each)], part or {})
            else:
                into[key.write(each)] = value.write(part)

    return Field(name, kind, read, write)


class _One:
    """A value that is not repeated."""

    def __init__(self, field: Any, kind: DataType, defaults: bool, null_text: str) -> None:
        self.is_message = field.message_type is not None
        self._kind = _kind(field)
        self._null_text = null_text
        self._type = kind
        self._enum = field.enum_type
        self._fields: list[Field] = []
        if self.is_message:
            if not isinstance(kind, t.RowType):
                raise NoForm(f"the field is a message, {field.message_type.full_name}, so its type is ROW, not {kind}")
            columns = list(zip(kind.names, kind.field_types()))
            self._fields = fields_of(field.message_type, columns, defaults, null_text)
            return
        wanted = _KINDS.get(self._kind, ())
        name = str(kind).split("(")[0].split()[0]
        if family_of(kind) not in wanted and name not in wanted:
            raise NoForm(f"a field of kind {self._kind.lower()} cannot be {kind}")
        self._default = "" if family_of(kind) is Family.TEXT else field.default_value

    def read(self, value: Any) -> Any:
        if self.is_message:
            return {each.name: each.read(value) for each in self._fields}
        if self._enum is not None and family_of(self._type) is Family.TEXT:
            known = self._enum.values_by_number.get(value)
            return str(value) if known is None else known.name
        bits = _SIGNED.get(self._kind)
        if bits is not None:
            if bits == 32 and str(self._type).startswith("BIGINT"):
                return value
            return value - (1 << bits) if value >= 1 << (bits - 1) else value
        return value

    def write(self, value: Any) -> Any:
        """Messages have no NULL in lists and maps."""
        if value is None:
            value = self._null_text if family_of(self._type) is Family.TEXT else self._default
        if self._enum is not None and isinstance(value, str):
            known = self._enum.values_by_name.get(value)
            if known is None:
                raise ValueError(f"{self._enum.full_name} has no value {value!r}")
            return known.number
        bits = _SIGNED.get(self._kind)
        return value % (1 << bits) if bits is not None and value < 0 else value

    def fill(self, message: Any, values: Any) -> None:
        for each in self._fields:
            if values.get(each.name) is not None:
                each.write(message, values[each.name])
