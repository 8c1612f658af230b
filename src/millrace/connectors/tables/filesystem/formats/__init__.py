"""The formats of the files of a table."""
