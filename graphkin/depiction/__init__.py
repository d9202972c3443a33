"""Depictions of molecules and graphs as SVG."""
