"""What a job needs on the workers, brought there and set up."""
