"""Reports: explanations as a notebook fragment, a web page or terminal output."""
