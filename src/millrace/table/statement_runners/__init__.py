"""What statements do, one module a kind."""
