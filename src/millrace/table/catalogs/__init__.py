"""Catalogs: where tables, views, functions and databases are kept. ``millrace.table.catalog`` has the public names."""
