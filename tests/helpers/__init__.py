"""What several test files share: cases, synthetic data, attackers written apart."""
