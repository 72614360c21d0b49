"""The studio: pages for people who do not write programs, all without a script. They show what the
interface and the library give, to whoever may have it; nothing is protected here.
"""
