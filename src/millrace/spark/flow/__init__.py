"""Jobs whose tasks all work at the same time, connected with each other, while the driver only marks their epochs."""
