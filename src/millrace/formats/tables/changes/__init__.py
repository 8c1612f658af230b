"""Formats of changes: messages that say what happened to a row."""
