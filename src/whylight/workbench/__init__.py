"""The reviewer's workbench: a web page on which people check what a classifier decided, and correct it.

`tables` (what is kept), `journal` (events, which are only added), `reviewing` (what events come to), `agreement` (how
reviewers differ), `export` (reviews as rationales), `desk` (the model), `jobs` (long work), `sessions` and `guard` (who
may do what), `app` and `routes` (the server).
"""
