"""Avro under PyFlink's names. The others of its names raise NotImplementedError when they are used."""

from __future__ import annotations

from millrace.datastream.not_yet import module_getattr
from millrace.formats.avro_rows import AvroRowDeserializationSchema, AvroRowSerializationSchema

__all__ = ["AvroRowDeserializationSchema", "AvroRowSerializationSchema"]

__getattr__ = module_getattr(__name__)
