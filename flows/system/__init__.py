"""What a host is: its processors, memory and limits, as its own kernel tells them."""
