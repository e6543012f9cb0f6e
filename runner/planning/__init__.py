"""Decision -> plan, pure: limits (one table), access, hidden names."""
