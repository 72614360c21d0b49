"""One module per output format, each with `write_file`.

In: `ProtectedTable` and the options of `discreet.publication.write`. Out: a file. Public. They
are loaded when a file of their format is first written.
"""
