"""What sources gave, kept in files: programs run with it again, and what their sinks get is compared."""
