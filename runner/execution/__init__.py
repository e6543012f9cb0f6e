"""The only owner of processes: capture (bounded bytes), tree (what runs inside), pump (one loop), ending (what a limit did)."""
