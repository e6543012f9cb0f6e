"""Frozen records and nothing else; imports nothing of ours. See record.py for how a record is made."""
