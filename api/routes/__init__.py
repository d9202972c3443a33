"""What is answered, by subject: each module has a `router`, and knows no other."""
