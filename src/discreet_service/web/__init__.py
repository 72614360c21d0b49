"""Endpoints and pages: HTTP in, HTTP out. What is done stands in lower layers."""
