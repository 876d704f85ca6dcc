"""Removers: what it means that a feature is absent. Plug-ins, one idea a file.

A remover takes a window and keep masks `[coalitions, features]` to variants of the window. The type of its first
parameter says which windows it works on; everything after `*` is a setting. Laws: keeping all is the identity, what is
kept stays as it is, what belongs to no feature is never touched, and nothing that comes in is changed.
"""
