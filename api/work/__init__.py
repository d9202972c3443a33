"""Scheduling: classes of work with a queue each, worker pools, and the tasks of worker processes."""
