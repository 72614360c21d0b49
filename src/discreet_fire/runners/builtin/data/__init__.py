"""Data that a do-file works on: data sets in memory, their files, true statistics. CONFIDENTIAL.

In: files and frames. Out: `DataSet`s that commands change; nothing here decides what is shown.
"""
