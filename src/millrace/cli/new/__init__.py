"""The template of ``millrace new``: a small project to start from."""
