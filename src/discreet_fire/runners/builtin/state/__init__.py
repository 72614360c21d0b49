"""What a running do-file can see and change. CONFIDENTIAL."""
