"""The SQL gateway as a command."""
