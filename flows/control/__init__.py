"""Control of the experiment: a machine's settings asked, verified, and always put back."""
