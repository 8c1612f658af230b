"""Rules that explain from a job's document why the job is slow, silent or failing."""
