"""The launcher: pid 1 of every Linux sandbox (launcher.c), its message format (wire.py) and its host side (client.py)."""
