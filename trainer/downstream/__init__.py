"""Downstream evaluation of encoders: labeled data sets, fine-tuning and embeddings."""
