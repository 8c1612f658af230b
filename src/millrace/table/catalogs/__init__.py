"""Catalogs, which store tables, views, functions, models and databases. ``millrace.table.catalog`` has the public
names."""
