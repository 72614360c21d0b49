"""What noise and suppression answer to a release."""
