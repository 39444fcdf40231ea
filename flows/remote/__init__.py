"""Work on another host: a kit of our own modules there, jobs that outlive a connection.

``agent`` runs on the host with nothing but its Python: it answers one line for each question.
``keeper`` runs beside each job there: it writes down how the job goes, and ends it when nobody
renews its lease. Here ``host`` asks, again after a lost connection, and ``job``, ``launch``,
``install`` and ``place`` say what is to be done. Everything that must survive lies in files on
the host.
"""
