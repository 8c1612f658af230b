"""Formats under PyFlink's names; the code is in ``millrace.formats``."""
