"""Questions about one open generation."""
