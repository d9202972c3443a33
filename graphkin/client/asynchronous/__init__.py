"""The client as coroutines. `make docs` generates `graphkin/client/synchronous/` from this package."""
