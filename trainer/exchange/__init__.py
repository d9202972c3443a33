"""Weights of encoders in the layouts of other programs: pretrain-gnns, PyTorch Geometric, Hugging Face."""
