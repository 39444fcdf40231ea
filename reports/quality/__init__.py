"""Whether a candidate's answers are as good as the reference's: arithmetic and verdicts."""
