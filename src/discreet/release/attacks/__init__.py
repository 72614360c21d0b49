"""Attacks on releases: what readers find out, before and after tables are made."""
