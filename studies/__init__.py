"""Studies: measurements that answer scientific questions, with their plans and results."""
