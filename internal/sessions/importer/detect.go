package importer

import (
	"bytes"
	"slices"
	"strings"

	"tape/internal/sessions/importer/bub"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// detectLines is how many lines have a say in what a file is.
const detectLines = 16

// Detect tells the format of a file from its beginning; some 64 KiB of it are
// plenty. The name decides only where the content could be either.
func Detect(name string, head []byte) (format string, ok bool) {
	head = bytes.TrimPrefix(head, []byte(record.ByteOrderMark))
	head = bytes.TrimLeft(head, " \t\r\n\x00")
	if len(head) == 0 {
		return "", false
	}
	votes := map[string]int{}
	rest := head
	for n := 0; n < detectLines && len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if size, err := jsonl.Prefix(line); err == nil && jsonl.IsObject(line) {
			votes[detectRecord(line[:size])]++
		}
	}
	delete(votes, "")
	best := ""
	for _, f := range Formats {
		if votes[f] > votes[best] || votes[f] == votes[best] && votes[f] > 0 && hinted(name) == f {
			best = f
		}
	}
	if best == "" {
		best = detectText(name, head)
	}
	return best, best != ""
}

// detectRecord tells the format of one record, or "" when it could be any.
func detectRecord(raw []byte) string {
	has := map[string][]byte{}
	for name, v := range jsonl.Fields(raw) {
		has[name] = v
	}
	str := func(name string) string { return record.Text(has[name]) }
	switch {
	case has["from"] != nil && jsonl.IsObject(has["acp"]):
		return ACP
	case has["kind"] != nil && jsonl.IsObject(has["payload"]) && has["id"] != nil:
		return Bub
	case has["parentUuid"] != nil || has["isSidechain"] != nil || has["leafUuid"] != nil ||
		has["isSnapshotUpdate"] != nil || has["uuid"] != nil && has["sessionId"] != nil:
		return ClaudeCode
	case has["payload"] != nil && has["type"] != nil && has["timestamp"] != nil,
		has["instructions"] != nil && has["timestamp"] != nil, has["record_type"] != nil:
		return Codex
	case has["$set"] != nil || has["$rewindTo"] != nil || has["projectHash"] != nil,
		has["sessionId"] != nil && has["messages"] != nil && !lacks(has["messages"], "type"),
		str("type") == "gemini" || str("type") == "user" && has["content"] != nil && has["timestamp"] != nil && has["id"] != nil:
		return Gemini
	case has["role"] != nil && str("type") == "message", strings.HasPrefix(str("type"), "function_call"), str("type") == "reasoning":
		return Codex // of the versions without envelopes
	case jsonl.IsObject(has["info"]) && has["messages"] != nil && !lacks(has["messages"], "parts"):
		return OpenCode
	case has["role"] != nil || has["messages"] != nil && !lacks(has["messages"], "role"):
		return OpenAI
	case has["sessionId"] != nil && has["type"] != nil:
		return ClaudeCode
	}
	return ""
}

// lacks reports that no message of a list has a member that each of a format has. Of a list that
// is cut off before the end of the first message, it cannot be told.
func lacks(list []byte, member string) bool {
	_, err := jsonl.Prefix(list)
	known := err == nil
	for m := range jsonl.Elements(list) {
		if jsonl.Get(m, member) != nil {
			return false
		}
		_, err := jsonl.Prefix(m)
		known = known || err == nil
	}
	return known
}

// detectText looks at a beginning without a whole record: many lines, or a long one.
func detectText(name string, head []byte) string {
	has := func(words ...string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !bytes.Contains(head, []byte(w)) })
	}
	_, list, found := bytes.Cut(head, []byte(`"messages"`))
	if list = bytes.TrimLeft(list, ": \t\r\n"); head[0] == '[' {
		list, found = head, true
	}
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(head[1:], " \t\r\n"), []byte(`"info"`)):
		return OpenCode
	case has(`"parentUuid"`), has(`"isSidechain"`), has(`"isSnapshotUpdate"`):
		return ClaudeCode
	case has(`"session_meta"`), has(`"response_item"`), has(`"event_msg"`):
		return Codex
	case has(`"projectHash"`), has(`"sessionId"`, `"messages"`) && !lacks(list, "type"):
		return Gemini
	case has(`"role"`) && found && !lacks(list, "role"):
		return OpenAI
	case has(`"kind"`, `"payload"`):
		return Bub
	}
	if head[0] == '{' || head[0] == '[' {
		return hinted(name)
	}
	return ""
}

// hinted is the format that a file's name suggests, or "".
func hinted(name string) string {
	stem := record.Source{Name: name}.Stem()
	dir := strings.ReplaceAll(name, `\`, "/")
	switch {
	case strings.HasPrefix(stem, "rollout-") || strings.Contains(dir, "/.codex/"):
		return Codex
	case strings.Contains(dir, "/.claude/") || strings.HasPrefix(stem, "agent-"):
		return ClaudeCode
	case strings.Contains(dir, "/.gemini/"):
		return Gemini
	}
	if hash, _, ok := strings.Cut(stem, "__"); ok && bub.IsHash(hash) {
		return Bub
	}
	return ""
}
