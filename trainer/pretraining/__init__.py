"""Pre-training: objectives, the training loop, and the run that it leaves on disk."""
