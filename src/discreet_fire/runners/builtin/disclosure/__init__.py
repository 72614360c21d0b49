"""What values of single units decide, followed while a do-file runs. CONFIDENTIAL."""
