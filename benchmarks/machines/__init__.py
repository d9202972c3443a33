"""An ingest on two machines that share an object store: `python -m benchmarks.machines`."""
