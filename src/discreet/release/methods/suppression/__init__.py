"""Cell suppression, as programmes ask for it."""
