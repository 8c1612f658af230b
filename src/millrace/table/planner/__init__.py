"""Turns a relational plan into a streaming program: which changes each node gives, and which operators compute it."""
