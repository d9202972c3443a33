"""The client as plain functions, made from `client/asynchronous/` by `make docs`."""
