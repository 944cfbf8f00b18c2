"""Board in the browser: `python -m agents.web` (extra `[web]`).

The server holds the games (`agents.play.session`) and knows the rules; the page draws what the
server sends and contains no rules.
"""
