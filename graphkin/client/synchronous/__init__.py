"""The client as plain functions, made from `graphkin/client/asynchronous/` by `make docs`."""
