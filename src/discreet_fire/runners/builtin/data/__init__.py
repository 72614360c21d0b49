"""Data that a do-file works on: data sets, values, files, their changes. CONFIDENTIAL."""
