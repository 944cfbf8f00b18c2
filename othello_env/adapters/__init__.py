"""Bridges to training libraries, each imported only by those who use that library."""
