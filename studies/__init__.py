"""Studies: measurements that answer a question, with their plans and results."""
