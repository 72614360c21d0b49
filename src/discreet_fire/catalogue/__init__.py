"""What is known of each command, in data: one row for each, in which no fact may be left out.

In: the TOML files of this folder, and a centre's own policy. Out: names (`command_names`), what
reading needs to know (`commands`), verdicts (`policy`), what running changes and shows
(`execution`), what functions tell (`functions`). Nothing here is confidential.
"""
