"""Pre-training: what is minimised, how an epoch goes, and the run it leaves on the disk."""
