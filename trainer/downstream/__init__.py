"""Downstream evaluation of an encoder: labeled data sets, fine-tuning, embeddings."""
