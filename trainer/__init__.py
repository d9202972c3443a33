"""Pre-training and fine-tuning of graph encoders on the data that a graphkin server or an offline folder provides."""
