"""Whether answers are as good as a reference's: who is asked what, and what is kept of it."""
