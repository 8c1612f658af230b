"""The history server as a command."""
