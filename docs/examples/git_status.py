#!/usr/bin/env python3
"""A plugin for tape: tells the model the state of the git repository it works in.

    tape config plugins '[{"name": "git-status", "command": ["python3", "git_status.py"]}]'
"""
import json
import subprocess
import sys


def git_status(params):
    """The hook system_prompt: a text, or None outside of a repository."""
    run = subprocess.run(
        ["git", "status", "--short", "--branch"], capture_output=True, text=True, errors="replace", timeout=4
    )
    if run.returncode != 0:
        return None
    lines = run.stdout.splitlines()
    if len(lines) > 50:
        lines[50:] = [f"… and {len(lines) - 50} more"]
    return "State of the git repository when this turn began (git status --short):\n" + "\n".join(lines)


HOOKS = {"system_prompt": git_status}


def answer(method, params):
    if method == "initialize":
        return {"name": "git-status", "version": "1", "hooks": [{"name": name} for name in HOOKS]}
    if method == "shutdown":
        return {}
    name = method.removeprefix("hook/")
    if name in HOOKS:
        return {"value": HOOKS[name](params)}
    raise ValueError(f"unknown method {method}")


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "exit":
            return
        if "id" not in message:
            continue  # a notification, such as $/cancel
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(message["method"], message.get("params", {}))
        except Exception as error:  # it becomes the error of this hook
            reply["error"] = {"code": -32000, "message": str(error)}
        print(json.dumps(reply), flush=True)


main()
