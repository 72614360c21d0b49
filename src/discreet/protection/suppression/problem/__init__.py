"""The problem of suppression: cells, relations, demands; how tables become one system."""
