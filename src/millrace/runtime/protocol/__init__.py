"""What driver and tasks tell each other in an epoch."""
