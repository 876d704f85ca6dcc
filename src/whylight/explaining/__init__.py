"""Explaining: an example becomes a case, a case gives views, a method turns views into an explanation."""
