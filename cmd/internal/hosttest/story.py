"""A chat host and two runners, by a client that knows nothing but the OpenAPI document.

Names of operations, where each parameter goes, what a body is and which status means success are
read from the document; every answer is held against its schema there."""
import json
import sys
import urllib.error
import urllib.parse
import urllib.request


class Client:
    def __init__(self, url, token):
        self.url, self.token = url, token
        self.document = json.load(urllib.request.urlopen(url + "/v1/openapi.json"))
        self.operations = {
            operation["operationId"]: (method, path, operation)
            for path, methods in self.document["paths"].items()
            for method, operation in methods.items()
        }

    def as_run(self, token):
        other = object.__new__(Client)
        other.__dict__.update(self.__dict__, token=token)
        return other

    def call(self, name, /, body=None, expect=None, **given):
        method, path, operation = self.operations[name]
        query, headers = {}, {"Authorization": "Bearer " + self.token}
        for p in operation["parameters"]:
            value = given.pop(p["name"].replace("-", "_"), None)
            if value is None:
                assert not p.get("required"), (name, p)
            elif p["in"] == "path":
                path = path.replace("{" + p["name"] + "}", urllib.parse.quote(value, safe=""))
            elif p["in"] == "query":
                query[p["name"]] = value
            else:
                headers[p["name"]] = value
        assert not given, (name, given)
        data = None
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"].get("application/json", {}).get("schema")
            if schema and not expect:
                self.check(schema, body, name)
            headers["Content-Type"] = "text/plain" if isinstance(body, bytes) else "application/json"
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path + "?" + urllib.parse.urlencode(query), data, headers, method=method.upper())
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            answer = error
        status = str(answer.status)
        text = answer.read()
        kind = answer.headers["Content-Type"]
        described = operation["responses"].get(status, operation["responses"]["default"])
        assert status == str(expect) if expect else status in operation["responses"], (name, status, text)
        assert kind in described["content"] or "*/*" in described["content"], (name, kind)
        if kind != "application/json":
            return text
        value = json.loads(text)
        self.check(described["content"][kind]["schema"], value, name)
        return value

    def check(self, schema, value, where):
        if "$ref" in schema:
            target = self.document
            for part in schema["$ref"][2:].split("/"):
                target = target[part]
            schema = target
        types = schema.get("type", schema.get("types"))
        if types:
            kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
            assert any(isinstance(value, kinds[t]) for t in ([types] if isinstance(types, str) else types)), (where, types, value)
        if isinstance(value, dict):
            for key in schema.get("required", []):
                assert key in value, (where, "lacks", key)
            for key, item in value.items():
                known = schema.get("properties", {}).get(key)
                if isinstance(known, dict):
                    self.check(known, item, where + "." + key)
                else:
                    assert known or schema.get("additionalProperties", True) not in (False, {"not": {}}), (where, "does not know", key)
        if isinstance(value, list) and isinstance(schema.get("items"), dict):
            for item in value:
                self.check(schema["items"], item, where)


host = Client(*sys.argv[1:3])

# A chat, with a first answer by a runner that manages its own context.
one = host.call("post_runs", {"runner": "own", "conversation": "room", "input": {"text": "the deploy fails with exit 137"}}, Idempotency_Key="m1")
assert one["context"]["bootstrap"] == []
own = host.as_run(one["token"])
host.call("post_runs_run_id_steering", {"text": "and be brief"}, run_id=one["run_id"])
assert [m["text"] for m in own.call("post_runs_run_id_steering_pull", run_id=one["run_id"])["items"]] == ["and be brief"]
log = own.call("post_artifacts", b"oom-killer: out of memory\n" * 5, name="kernel.log")
assert own.call("get_artifacts_artifact_id_content", artifact_id=log["id"], offset=0, length=10)["has_more"]
assert own.call("get_artifacts_artifact_id_content", artifact_id=log["id"]).startswith(b"oom-killer")
version = own.call("put_state_scope_key", {"tries": 1}, scope="conversation", key="deploy")["version"]
own.call("put_state_scope_key", {"tries": 2}, scope="conversation", key="deploy", If_Match=version)
own.call("put_state_scope_key", {"tries": 3}, scope="conversation", key="deploy", If_Match=version, expect=409)
fork = own.call("post_tapes_tape_fork", {"name": "idea"}, tape="room")
own.call("post_tapes_tape_entries", {"entries": [{"kind": "message", "payload": {"role": "assistant", "content": "try less memory"}}]}, tape=fork["tape"], Idempotency_Key="e1")
assert own.call("get_diff", a="room", b=fork["tape"])["b"]
assert own.call("post_tapes_tape_merge", {"fork": "idea"}, tape="room")["merged"] == 1
own.call("post_tapes_tape_handoff", {"name": "found", "summary": "out of memory"}, tape="room")
results = {"results": [{"sequence": 1, "type": "message.completed", "data": {"content": "it was killed: out of memory"}},
                       {"sequence": 2, "type": "run.completed", "data": {"finish_reason": "stop"}}]}
assert own.call("post_runs_run_id_results", results, run_id=one["run_id"])["status"] == "completed"
assert own.call("post_runs_run_id_results", results, run_id=one["run_id"])["ignored"] == 2
own.call("get_history", expect=401)

# The second runner gets the end of the history with its context.
two = host.call("post_runs", {"runner": "given", "conversation": "room", "input": {"text": "how much does it need?"},
                              "manifest": {"bootstrap": "recent_tail", "max_inline_events": 3, "ownership": "host_bootstrap", "scopes": ["history.page"]}})
assert [i["content"] for i in two["context"]["bootstrap"]][-2:] == ["it was killed: out of memory", "how much does it need?"], two
given = host.as_run(two["token"])
given.call("get_history_search", q="memory", expect=403)
given.call("get_history", conversation_id="elsewhere", expect=404)
given.call("post_runs_run_id_results", {"results": [{"sequence": 1, "type": "run.failed", "data": {"code": "no_model", "error": "none", "retryable": False}}]}, run_id=two["run_id"])
assert host.call("get_runs_run_id", run_id=two["run_id"])["status"] == "failed"

# The host reads everything, by pages of one.
seen, cursor = [], None
while True:
    page = host.call("get_events", conversation_id="room", limit=1, direction=None if cursor else "forward", after_cursor=cursor)
    seen += [item["seq"] for item in page["items"]]
    cursor = page["next_cursor"]
    if not page["has_more"]:
        break
assert seen == list(range(1, len(seen) + 1)) and len(seen) > 10, seen
assert b"run.failed" in host.call("get_runs_run_id_events", run_id=two["run_id"])
print(f"the story is told: {len(host.operations)} operations in the document, {len(seen)} entries")
