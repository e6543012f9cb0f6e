"""Frozen records, and what is asked of paths; imports nothing of ours. See record.py for how a record is made."""
