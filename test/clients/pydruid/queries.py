"""Sends the queries that pydruid builds: queries.py URL DATA_SOURCE FROM TO. Behind each it prints its name and waits for a line."""

import sys
from urllib.parse import urlparse

from pydruid.client import PyDruid
from pydruid.db import connect
from pydruid.utils.aggregators import count, doublesum, longsum
from pydruid.utils.dimensions import DimensionSpec
from pydruid.utils.filters import Dimension
from pydruid.utils.having import Aggregation
from pydruid.utils.postaggregator import Field

url, source, start, end = sys.argv[1:]
druid = PyDruid(url, "druid/v2/")
usual = {"datasource": source, "intervals": f"{start}/{end}"}
sums = {"added": longsum("added"), "rows": count("count")}


def say(name):
    print(name, flush=True)
    sys.stdin.readline()


def native(name, method, **parts):
    getattr(druid, method)(**{**usual, "aggregations": sums, **parts})
    say(name)


native("timeseries, hours", "timeseries", granularity="hour")
native("timeseries, days", "timeseries", granularity="day", intervals=[f"{start}/{end}"])
native("timeseries, filter", "timeseries", granularity="fifteen_minute", filter=(Dimension("country") == "DE") | (Dimension("robot") == "true"))
native("timeseries, post-aggregation", "timeseries", granularity="hour", post_aggregations={"each": Field("added") / Field("rows")})
native("timeseries, descending", "timeseries", granularity="hour", descending=True)
native("timeseries, context", "timeseries", granularity="hour", context={"timeout": 60000, "priority": 5, "queryId": "of-pydruid"})
native("timeseries, period", "timeseries", granularity={"type": "period", "period": "PT6H", "timeZone": "America/New_York"})
native("timeseries, total", "timeseries", granularity="all")
native("topN, hours", "topn", granularity="hour", dimension="page", metric="added", threshold=5)
native("topN, total", "topn", granularity="all", dimension="page", metric="added", threshold=10)
native("topN, double, days", "topn", granularity="day", dimension="country", metric="delta", threshold=3, aggregations={"delta": doublesum("delta")})
native("groupBy, hours", "groupby", granularity="hour", dimensions=["country"])
native("groupBy, having", "groupby", granularity="hour", dimensions=["country", "robot"], having=Aggregation("rows") > 5)
native("groupBy, dimension spec", "groupby", granularity="day", dimensions=[DimensionSpec("page", "title")])
native("groupBy, limit of order", "groupby", granularity="day", dimensions=["country"], limit_spec={"type": "default", "limit": 1000, "columns": ["country"]})
native("groupBy, top rows", "groupby", granularity="day", dimensions=["page"], limit_spec={"type": "default", "limit": 50, "columns": [{"dimension": "added", "direction": "descending"}]})
native("groupBy, total", "groupby", granularity="all", dimensions=["country"])

druid.time_boundary(datasource=source)
say("timeBoundary")
druid.scan(datasource=source, intervals=f"{start}/{end}", granularity="all", limit=10, columns=["__time", "page"], metrics=[])
say("scan")

address = urlparse(url)
cursor = connect(host=address.hostname, port=address.port, path="/druid/v2/sql/", scheme="http").cursor()


def sql(name, statement, parameters=None):
    cursor.execute(statement, parameters)
    cursor.fetchall()
    say(name)


hours = f"SELECT TIME_FLOOR(__time, 'PT1H') AS t, SUM(added) AS added FROM {source}"
bounds = {"start": start.replace("T", " ").rstrip("Z"), "end": end.replace("T", " ").rstrip("Z")}
during = "WHERE __time >= %(start)s AND __time < %(end)s"
sql("cursor, hours", f"{hours} {during} GROUP BY 1 ORDER BY 1", bounds)
sql("cursor, without order", f"{hours} {during} GROUP BY 1", bounds)
sql("cursor, limit", f"{hours} {during} GROUP BY 1 ORDER BY 1 LIMIT 1000", bounds)
sql("cursor, by country", f"SELECT FLOOR(__time TO DAY) AS t, country, COUNT(*) AS n FROM {source} {during} GROUP BY 1, 2 ORDER BY 1, 2", bounds)
sql("cursor, top pages", f"SELECT page, COUNT(*) AS n FROM {source} {during} GROUP BY 1 ORDER BY 2 DESC LIMIT 10", bounds)
