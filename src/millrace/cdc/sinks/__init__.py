"""Where changes go."""
