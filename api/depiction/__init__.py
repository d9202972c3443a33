"""Depictions: their scheduling and cache, and the tasks that draw them."""
