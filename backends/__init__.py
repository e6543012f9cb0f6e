"""Isolation mechanisms, one folder each; see README.md for the contract and the five steps to add one."""
