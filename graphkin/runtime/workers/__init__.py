"""Worker processes: a fork server, a pool of workers that can be killed, and maps over chunks."""
