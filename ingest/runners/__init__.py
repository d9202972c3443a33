"""Who runs tasks."""
