"""What is known afterwards: records, statistics, decision, pages."""
