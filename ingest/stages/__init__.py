"""An ingest as stages of numbered tasks, which whoever can run tasks runs, here or on many machines."""
