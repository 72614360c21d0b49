"""Stata do-files taken apart, with every command word at its place.

In: the text of a do-file. Out: statements, tokens, findings. Nothing is run and nothing is
changed here.
"""
