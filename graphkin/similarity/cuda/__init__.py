"""The exact join of fingerprints on an NVIDIA GPU.

Only this package and the trainer import torch. Nothing imports this package unless `--device cuda` is given.
"""
