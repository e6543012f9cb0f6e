"""Benchmarks: `make bench`. Everything is measured side by side in one run and printed as a ratio; nothing is asserted."""
