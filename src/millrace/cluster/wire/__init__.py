"""Calls between processes of one user on one machine: JSON messages over Unix sockets."""
