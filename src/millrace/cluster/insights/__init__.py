"""What a job's document tells about why it is slow, silent or failing, in sentences."""
