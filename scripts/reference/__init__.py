"""``docs/sql/``: statements, types, hints, connectors and formats, each page from what the code knows."""
