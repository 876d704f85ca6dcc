"""What the server answers: pages for people, and plain values for their scripts."""
