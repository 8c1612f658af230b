"""Formats of messages for tables: bytes to rows in columns and back."""
