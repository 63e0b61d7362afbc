"""A neural model of arcs and labels: a BiLSTM or a pretrained encoder under biaffine scores."""
