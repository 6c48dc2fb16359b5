"""What is minimised, its gradient, and the update."""
