package about

import (
	"bytes"
	"cmp"
	"slices"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// agentTitles has, by the name of an event, the member of its data that is a title of the session:
// the agent's own, or one that a person gave it in the agent.
var agentTitles = map[string]struct {
	member   string
	byPerson bool
}{
	"ai-title":            {"aiTitle", false},    // Claude Code
	"custom-title":        {"customTitle", true}, // Claude Code's /rename
	"system.custom_title": {"customTitle", true}, // Qwen Code's /rename
	"thread_name_updated": {"thread_name", true}, // Codex
	"session_info_update": {"title", false},      // Agent Client Protocol
	"session":             {"summary", false},    // Gemini CLI
	"session.update":      {"summary", false},    // Gemini CLI
}

// addTitle takes an event's title into account, and reports whether the event has no other purpose.
func (t *Tape) addTitle(e layout.Entry, name string) bool {
	if name == TitleEvent {
		// A title that came with a merged fork is the fork's, and one on an abandoned branch is that
		// branch's.
		if jsonl.Get(e.Meta, "origin", "fork") == nil && !e.Hidden() {
			title := squeeze(jsonl.GetString(e.Payload, "data", "title"))
			if jsonl.Get(e.Meta, "source") != nil {
				t.Called = title
			} else {
				t.Given = title
			}
			t.choose()
		}
		return true
	}
	if name == "summary" {
		t.wait(jsonl.Get(e.Payload, "data"))
	}
	by, ok := agentTitles[name]
	if !ok || e.Hidden() || jsonl.Get(e.Meta, "origin", "fork") != nil {
		return false
	}
	if title := headline(asked(jsonl.GetString(e.Payload, "data", by.member), false)); title != "" {
		if by.byPerson {
			t.Renamed = title
		} else {
			t.Called = title
		}
		t.choose()
	}
	return false
}

// formerTitle takes the title in an anchor into account: earlier versions made anchors of Claude Code's
// titles. Titles before the first message mostly belonged to other sessions.
func (t *Tape) formerTitle(e layout.Entry) {
	state := jsonl.Get(e.Payload, "state")
	if t.Messages > 0 && !e.Hidden() && jsonl.Get(state, "leaf") != nil && jsonl.Get(e.Meta, "source") != nil {
		if title := headline(asked(jsonl.GetString(state, "summary"), false)); title != "" {
			t.Called = title
			t.choose()
		}
	}
}

// leafTitle is a title that Claude Code has written into a session's file. It belongs to the
// conversation that ends with the line leaf, so the session gets it only if it has that line.
type leafTitle struct {
	Leaf  string `json:"leaf"`
	Title string `json:"title"`
}

// wait keeps a title until its leaf comes. Only the last few are kept.
func (t *Tape) wait(data []byte) {
	const most, longest = 4, 100
	leaf, title := jsonl.GetString(data, "leafUuid"), headline(asked(jsonl.GetString(data, "summary"), false))
	if leaf == "" || len(leaf) > longest || title == "" {
		return
	}
	t.Unclaimed = append(t.Unclaimed, leafTitle{leaf, title})
	t.Unclaimed = t.Unclaimed[max(0, len(t.Unclaimed)-most):]
}

// claim takes the waiting title whose leaf the entry was made from.
func (t *Tape) claim(e layout.Entry) {
	for i, u := range t.Unclaimed {
		if bytes.Contains(e.Meta, []byte(u.Leaf)) && !e.Hidden() {
			t.Called = u.Title
			t.choose()
			if t.Unclaimed = slices.Delete(t.Unclaimed, i, i+1); len(t.Unclaimed) == 0 {
				t.Unclaimed = nil
			}
			return
		}
	}
}

// choose sets the title to the one that counts most.
func (t *Tape) choose() { t.Title = cmp.Or(t.Given, t.Renamed, t.Called, t.Asked, t.Copied) }
