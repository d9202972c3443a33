"""Depictions of molecules and graphs: `Depictor`, and the tasks of its worker processes."""
