"""The front door: the `graphkin` command. Rooms are imported when a command needs them."""
