"""Running do-files without Stata: a documented subset, with safe commands for output."""
