"""Programs made safe: `discreet fire pre`.

In: do-files and scripts of researchers, and a policy. Out: ``NAME_FiRe.*`` beside the originals,
with safe commands in place of unsafe ones, a manifest of every edit, and findings for the officer.
Nothing is run.
"""
