"""The pictures of the documentation, each made by a function."""
