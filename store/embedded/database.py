"""What SQLite says about a database: that it holds something else than was written, or that it cannot be reached."""

import sqlite3

_CONTENT = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_ERROR,  # a table or column is not there
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_TOOBIG,
}
DATABASE_ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What reading a database raises; the latter for a damaged name in what SQLite says."""


def tells_damage(error: Exception) -> bool:
    """Whether it is about what a database holds, and not about reaching it or about the call."""
    code = getattr(error, "sqlite_errorcode", None)  # none: a text that is not UTF-8, which Python finds itself
    return not isinstance(error, sqlite3.ProgrammingError) and (code is None or code & 0xFF in _CONTENT)
