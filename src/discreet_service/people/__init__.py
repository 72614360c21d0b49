"""People: keys, users, sessions, logins elsewhere, and what two persons must agree on.

What is secret (passwords, keys, cookies) is kept as digests only, shown once, and never logged.
"""
