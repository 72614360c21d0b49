"""The language of do-files: syntax, expressions, functions, formats.

In: statements. Out: trees and their values. Values of records are CONFIDENTIAL.
"""
