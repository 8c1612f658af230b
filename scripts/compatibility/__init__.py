"""Compares the public API of PyFlink with ours: what ``docs/pyflink-compatibility.md`` is made from."""
