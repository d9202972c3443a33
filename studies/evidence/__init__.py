"""The second evidence plan (studies/evidence-plan-2.md): its encoders, cells and statistics."""
