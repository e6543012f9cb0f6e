"""fumehood."""
