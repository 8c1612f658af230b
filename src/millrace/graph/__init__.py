"""The description of a program: frozen nodes and edges, and passes that turn them into a job for the runtime."""
