"""Messages of a shop, as protoc would generate them from a file; without protoc."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FILE = descriptor_pb2.FileDescriptorProto(name="millrace_shop.proto", package="shop", syntax="proto3")
_T = descriptor_pb2.FieldDescriptorProto


def _field(message: Any, name: str, kind: int, **more: Any) -> None:
    number = len(message.field) + 1
    more = {"label": _T.LABEL_OPTIONAL, **more}
    message.field.add(name=name, number=number, type=kind, json_name=name, **more)


_COLOUR = _FILE.enum_type.add(name="Colour")
for _number, _name in enumerate(("RED", "GREEN")):
    _COLOUR.value.add(name=_name, number=_number)
_ITEM = _FILE.message_type.add(name="Item")
_field(_ITEM, "name", _T.TYPE_STRING)
_field(_ITEM, "price", _T.TYPE_DOUBLE)
_ORDER = _FILE.message_type.add(name="Order")
_field(_ORDER, "id", _T.TYPE_INT64)
_field(_ORDER, "count", _T.TYPE_INT32)
_field(_ORDER, "paid", _T.TYPE_BOOL)
_field(_ORDER, "rate", _T.TYPE_FLOAT)
_field(_ORDER, "total", _T.TYPE_DOUBLE)
_field(_ORDER, "note", _T.TYPE_STRING)
_field(_ORDER, "raw", _T.TYPE_BYTES)
_field(_ORDER, "unsigned", _T.TYPE_UINT64)
_field(_ORDER, "colour", _T.TYPE_ENUM, type_name=".shop.Colour")
_field(_ORDER, "item", _T.TYPE_MESSAGE, type_name=".shop.Item")
_field(_ORDER, "tags", _T.TYPE_STRING, label=_T.LABEL_REPEATED)
_field(_ORDER, "items", _T.TYPE_MESSAGE, type_name=".shop.Item", label=_T.LABEL_REPEATED)
_ENTRY = _ORDER.nested_type.add(name="StockEntry", options={"map_entry": True})
_field(_ENTRY, "key", _T.TYPE_STRING)
_field(_ENTRY, "value", _T.TYPE_INT32)
_field(_ORDER, "stock", _T.TYPE_MESSAGE, type_name=".shop.Order.StockEntry", label=_T.LABEL_REPEATED)
_ORDER.oneof_decl.add(name="_maybe")
_field(_ORDER, "maybe", _T.TYPE_INT32, proto3_optional=True, oneof_index=0)

_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_FILE)  # type: ignore[no-untyped-call]
Order: Any = message_factory.GetMessageClass(_POOL.FindMessageTypeByName("shop.Order"))
Item: Any = message_factory.GetMessageClass(_POOL.FindMessageTypeByName("shop.Item"))
