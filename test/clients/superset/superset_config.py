"""A Superset for tests: its own database beside it, no pages to protect."""

import os

SECRET_KEY = "only for tests on this machine"
SQLALCHEMY_DATABASE_URI = "sqlite:///" + os.path.join(os.environ["SUPERSET_HOME"], "superset.db")
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
