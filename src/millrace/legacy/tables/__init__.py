"""Older names of the Table API: environments, descriptors, tables of files, settings."""
