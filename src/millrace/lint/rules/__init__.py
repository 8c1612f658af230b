"""What ``millrace lint`` finds: one rule a file."""
