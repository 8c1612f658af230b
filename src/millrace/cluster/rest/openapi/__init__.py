"""The description of the API for tools, generated from the table of routes."""
