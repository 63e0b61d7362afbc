"""What several tests share: random trees, brute force, places of data."""
