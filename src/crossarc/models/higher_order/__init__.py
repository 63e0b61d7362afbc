"""The linear model of second and third order: arcs, and parts of two or three arcs."""
