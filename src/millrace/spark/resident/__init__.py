"""Epochs over connections that stay: one job of Spark holds a place for each task, and the driver talks to the tasks."""
