"""Ways in: one thin file each. They call the registry or the one-shot run and spawn nothing themselves."""
