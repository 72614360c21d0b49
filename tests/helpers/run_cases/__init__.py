"""Cases of the built-in runner: what must come out, worked out by other means."""
