"""What every request passes on its way in, and every reply on its way out."""
