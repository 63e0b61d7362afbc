"""What follows from the sums and best trees of any distribution over trees."""
