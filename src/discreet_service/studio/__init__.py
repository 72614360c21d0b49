"""The studio: pages for people who do not write programs. Server-rendered; no protection here.

In: requests of browsers. Out: pages that show what the interface and the library give, to whoever
may have it. Everything works without a script.
"""
