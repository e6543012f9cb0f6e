"""Request -> Decision, pure: effects, capabilities, matchers, policy."""
