"""Output checking for research data centres: programs and logs made safe before release."""
