"""The linear model of first order: features of arcs and labels, and how weights are learnt."""
