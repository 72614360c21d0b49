"""From a programme to a folder of protected tables, and its audit.

In: a programme and all that it names, CONFIDENTIAL. Out: files that may be published, and
internal reports that may not. The way of a table: `inputs`, `counts`, `sensitive_cells`,
`protection` (noise) or `suppression` (hidden cells), `files`; `release` is the whole of it.
"""
