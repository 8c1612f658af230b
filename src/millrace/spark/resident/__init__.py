"""Epochs over connections that stay: one job of Spark holds the places of tasks, and the driver talks to them."""
