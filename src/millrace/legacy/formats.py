"""Schemas of formats where PyFlink had them up to 1.15: in ``pyflink.common.serialization``."""

from __future__ import annotations

from millrace.datastream.formats.avro import AvroRowDeserializationSchema, AvroRowSerializationSchema
from millrace.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from millrace.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema

__all__ = [
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
]
