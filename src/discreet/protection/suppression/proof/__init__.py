"""What hidden cells prove: bounds, certificates, audits; what attackers find out."""
