"""From what users have to `Rankings`."""
