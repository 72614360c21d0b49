"""The protection service: one office, many systems, the same figure everywhere.

Cells or queries come in over HTTP, protected figures go out. Upper layers import lower ones only:

- `web`: pages and endpoints; `client`: callers of the service
- `service`: everything that a request needs, built from `settings`
- `cells`, `queries`, `releases`, `jobs`: what is done
- `policies`: what may be asked; `datasets`, `parameter_sets`: with what
- `people`, `audit`: who did what; `database`: where it is kept
"""
