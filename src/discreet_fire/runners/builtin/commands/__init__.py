"""The commands of the builtin runner, by what they are for; `registry` imports each module.

In: a session and a call. Out: the session as the command leaves it, and safe output.
"""
