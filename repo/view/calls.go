package view

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"tape/internal/text/jsonl"
)

func parseCall(raw []byte) *call {
	c := &call{id: cmp.Or(jsonl.GetString(raw, "id"), jsonl.GetString(raw, "call_id")), name: jsonl.GetString(raw, "name")}
	args := jsonl.Get(raw, "arguments")
	if args == nil {
		args = jsonl.Get(raw, "input")
	}
	if f := jsonl.Get(raw, "function"); jsonl.IsObject(f) {
		c.name, args = jsonl.GetString(f, "name"), jsonl.Get(f, "arguments")
	} else if f := jsonl.Get(raw, "custom"); jsonl.IsObject(f) {
		c.name, args, c.custom = jsonl.GetString(f, "name"), jsonl.Get(f, "input"), true
	}
	c.args = resultText(args)
	if !c.custom && strings.TrimSpace(c.args) == "" {
		c.args = "{}"
	}
	return c
}

// Limits of the lengths of ids and names of tools. OpenAI has a limit for ids and a pattern for names, Anthropic
// a pattern for both.
const (
	maxID   = 40
	maxName = 64
)

// replaceInvalid replaces characters that names must not have.
func replaceInvalid(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// shorten cuts a name that is too long, and adds a hash to keep it unique.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	tail := "_" + hex.EncodeToString(sum[:4])
	return strings.ToValidUTF8(s[:limit-len(tail)], "") + tail
}

// ToolName is the name of a tool for models, in a form that every provider accepts: letters, digits, _ and -.
// For example, fs.read becomes fs_read.
func ToolName(s string) string {
	if s == "" {
		return "unknown"
	}
	return shorten(replaceInvalid(s), maxName)
}

// idMaker assigns the ids of calls.
type idMaker struct {
	format Format
	used   map[string]bool
	count  map[string]int
}

// next begins another message. Ids are unique in a message for OpenAI, in all messages for Anthropic.
func (m *idMaker) next() {
	if m.format != Anthropic {
		clear(m.used)
		clear(m.count)
	}
}

// make returns the id of the i-th call of an entry.
func (m *idMaker) make(id string, entry int64, i int) string {
	if id == "" {
		id = "call_" + strconv.FormatInt(entry, 10) + "_" + strconv.Itoa(i)
	}
	if m.format == Anthropic {
		id = replaceInvalid(id)
	}
	id = shorten(id, maxID)
	out := id
	for m.used[out] {
		m.count[id]++
		out = shorten(id, maxID-8) + "_" + strconv.Itoa(m.count[id]+1)
	}
	m.used[out] = true
	return out
}
