#!/usr/bin/env python3
"""A runner that manages its own context: python3 runner.py URL RUN_ID TOKEN

It reads pages of the history, newest first, until it has enough; searches for earlier entries about
the question; and reports its answer and the end of the run. It needs only Python's standard library."""
import json
import sys
import urllib.parse
import urllib.request

url, run, token = sys.argv[1:4]


def ask(method, path, body=None, **query):
    query = {k: v for k, v in query.items() if v}
    request = urllib.request.Request(
        f"{url}/v1{path}?{urllib.parse.urlencode(query)}", method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


# The working context is the runner's own: here, at most 2,000 characters of messages.
context, cursor = [], None
while sum(len(m["content"]) for m in context) < 2000:
    page = ask("GET", "/history", limit=20, before_cursor=cursor)
    context += [m for m in page["items"] if m["item_type"] == "message"]
    cursor = page["next_cursor"]
    if not page["has_more"]:
        break

question = next(m["content"] for m in context if m["role"] == "user")
before = [h for h in ask("GET", "/history/search", q=question.split()[-1].strip("?"))["items"] if h["content"] != question]
answer = f"I have read {len(context)} messages; {len(before)} other entries mention that."

results = [
    {"sequence": 1, "type": "message.completed", "data": {"content": answer}},
    {"sequence": 2, "type": "run.completed", "data": {"finish_reason": "stop"}},
]
print(ask("POST", f"/runs/{run}/results", {"results": results})["status"])
