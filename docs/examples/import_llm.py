#!/usr/bin/env python3
"""Writes the conversations of the program llm (https://llm.datasette.io) as files that tape imports.

    python3 import_llm.py "$(llm logs path)" llm-sessions && tape import llm-sessions
"""
import json
import pathlib
import sqlite3
import sys


def entries(db, talk):
    state = {"agent": "llm", "sessionId": talk["id"], "model": talk["model"]}
    yield "anchor", {"name": "session/start", "state": state}, {}
    yield "event", {"name": "tape.title", "data": {"title": talk["name"]}}, {}
    for turn in db.execute("SELECT * FROM responses WHERE conversation_id = ? ORDER BY datetime_utc, id", [talk["id"]]):
        date = {"date": turn["datetime_utc"]}
        results = db.execute("SELECT * FROM tool_results WHERE response_id = ? ORDER BY id", [turn["id"]]).fetchall()
        if results:  # by position; the ids say to which calls they belong
            ids = {"meta": {"call_ids": [r["tool_call_id"] for r in results]}}
            yield "tool_result", {"results": [r["output"] for r in results]}, date | ids
        if turn["prompt"]:
            yield "message", {"role": "user", "content": turn["prompt"]}, date
        if turn["response"]:
            yield "message", {"role": "assistant", "content": turn["response"]}, date
        calls = [{"id": c["tool_call_id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
                 for c in db.execute("SELECT * FROM tool_calls WHERE response_id = ? ORDER BY id", [turn["id"]])]
        if calls:
            yield "tool_call", {"calls": calls}, date
        usage = {"input_tokens": turn["input_tokens"] or 0, "output_tokens": turn["output_tokens"] or 0}
        yield "event", {"name": "run", "data": {"model": turn["model"], "usage": usage}}, date


database, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
db = sqlite3.connect(pathlib.Path(database).resolve().as_uri() + "?mode=ro", uri=True)
db.row_factory = sqlite3.Row
for talk in db.execute("SELECT * FROM conversations").fetchall():
    with open(folder / f"{talk['id']}.jsonl", "w", encoding="utf-8") as file:  # one file for each session
        for number, (kind, payload, more) in enumerate(entries(db, talk), 1):
            file.write(json.dumps({"id": number, "kind": kind, "payload": payload} | more) + "\n")
