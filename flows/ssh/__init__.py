"""SSH as runoff uses it: known hosts only, a time limit on everything, ends told apart.

Measured behaviour that shapes it: paramiko reports -1 both for a death by signal and for a
lost connection, so every command writes its own end; a stream that is not read blocks the
other one, so both are read at once; a failed download leaves an empty file, so downloads go
aside first; a broken link is noticed only with the socket's own options.
"""

import logging

from flows.ssh.configuration import aliases, login_of
from flows.ssh.connection import Connection, Pipe
from flows.ssh.entering import connect

__all__ = ["Connection", "Pipe", "aliases", "connect", "login_of"]

logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # its errors reach us as such
