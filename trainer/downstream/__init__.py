"""What an encoder is worth to others: labelled sets, fine-tuning, embeddings."""
