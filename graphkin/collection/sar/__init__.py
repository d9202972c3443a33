"""Structure and activity: R groups, matched pairs, descriptors and scaffolds of a series."""
