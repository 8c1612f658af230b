"""The state files of tasks between epochs, divided by key group, and large results."""
