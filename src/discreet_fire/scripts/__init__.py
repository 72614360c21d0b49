"""Programs in R and Python: reading them, and what rewritten ones call.

In: scripts and notebooks in source form. Out: chunks, trees and bindings; `runtime` has the safe
functions that stand in rewritten Python scripts. It is no sandbox.
"""
