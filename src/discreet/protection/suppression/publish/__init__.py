"""Tables in, tables with hidden cells out: as they are published, with a report."""
