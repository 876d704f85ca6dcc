"""Where long work is done: in this process, in processes of this machine, or on a Ray cluster.

An engine schedules nothing. Work is done by workers, each of which is opened once (it loads a model, say) and then gets
one order after the other; `Crew` hands them out. What an order is, the engine does not know.
"""
