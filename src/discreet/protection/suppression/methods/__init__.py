"""Methods of cell suppression: which cells to hide, and what that costs at least."""
