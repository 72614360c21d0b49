"""What `SuppressionProtection` is made of: checks, sensitive and hidden cells, earlier tables."""
