"""Avro records whose schema is in a registry with Confluent's interface."""
