//go:build unix

package tools

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tape/hooks"
	"tape/repo"
)

func TestTapeTools(t *testing.T) {
	t.Parallel()
	tp := newTape(t)
	e := newEnv(t, func(o *Options) {
		o.Tape = func(_ context.Context, c hooks.ToolContext) (*repo.Tape, error) {
			if c.Session != "s" {
				return nil, errors.New("another session")
			}
			return tp, nil
		}
	})
	add := func(drafts ...repo.Draft) {
		t.Helper()
		if _, err := tp.Append(t.Context(), nil, drafts...); err != nil {
			t.Fatal(err)
		}
	}
	add(repo.Message("user", "The zebra is \x1b[31mred."), repo.Message("assistant", "[tape.search]: 1 hits; zebra"),
		repo.Event("zebra", nil), repo.Event("run", []byte(`{"status":"ok","usage":{"input_tokens":90,"output_tokens":10,"total_tokens":100}}`)))
	contains(t, e.must("tape.info", ``), "entries: 5", "anchors: 1", "last_anchor: session/start", "entries_since_last_anchor: 4", "last_token_usage: 100")
	out := e.must("tape.search", `{"query":"zebra"}`)
	contains(t, out, "1 hits (1 filtered)", "@2", "user: The zebra")
	if strings.Contains(out, "\x1b") || strings.Contains(out, "@4") {
		t.Errorf("the result has an escape sequence, or the entry of an earlier search: %q", out)
	}
	contains(t, e.must("tape.search", `{"query":"zebra","kinds":["event"],"limit":"1"}`), "1 hits")
	contains(t, e.must("tape.search", `{"query":"zebra","start":"2099-01-01"}`), "0 hits")
	e.fails("tape.search", `{"query":"zebra","start":"whenever"}`, `start: "whenever" is not a date`)
	e.fails("tape.search", `{"query":"zebra","end":"whenever"}`, `end: "whenever" is not a date`)
	e.fails("tape.search", `{"query":"zebra","kinds":["mesage"]}`, `kinds: there is no kind "mesage"`)
	contains(t, e.must("tape.search", `{"query":"zebra","roles":["assistant"]}`), "0 hits (1 filtered)")
	contains(t, e.must("tape.search", `{"query":"zebra","authors":["nobody"]}`), "0 hits")
	e.fails("tape.search", `{}`, "query")
	contains(t, e.must("tape.handoff", `{"name":"phase-1","summary":"all about zebras","state":{"next":"lions"}}`), "anchor added: phase-1 (@6)")
	contains(t, e.must("tape.handoff", ``), "anchor added: handoff")
	e.fails("tape.handoff", `{"state":[1]}`, "object")
	contains(t, e.must("tape.anchors", ``), "- 001 session/start @1", "- 002 phase-1 @6", ": all about zebras", "- 003 handoff")
	contains(t, e.must("tape.search", `{"query":"zebra"}`), "@2")
	contains(t, e.must("tape.reset", ``), "kept as refs/")
	contains(t, e.must("tape.info", ``), "entries: 1")
	if _, err := e.callIn(t.Context(), "other", "tape.info", ``); err == nil {
		t.Error("another session's tape is shown")
	}
}

func TestSkill(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) {
		o.Skills = func(context.Context, hooks.ToolContext) ([]Skill, error) {
			return []Skill{{Name: "Release", Description: "how to release", Location: "/x/SKILL.md", Body: func() (string, error) { return "Tag it.", nil }}}, nil
		}
	})
	contains(t, e.must("skill", ``), "- Release: how to release")
	contains(t, e.must("skill", `{"name":"release"}`), "Location: /x/SKILL.md", "Tag it.")
	e.fails("skill", `{"name":"none"}`, "Release")
}
