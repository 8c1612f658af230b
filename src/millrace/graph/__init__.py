"""The description of a program: frozen nodes, and passes that turn them into a job for the runtime."""
