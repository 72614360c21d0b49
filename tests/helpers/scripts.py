"""Scripts rewritten in one go, for tests of what is written."""

from __future__ import annotations

from discreet_fire.rewriting.script_files import prepared_scripts


def rewrite_scripts(paths, **options):
    """Rewrite scripts, and write the results beside them."""
    return prepared_scripts(paths, **options)()
