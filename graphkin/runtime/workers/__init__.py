"""Worker processes: a fork server, a pool of workers, and functions mapped over chunks of data."""
