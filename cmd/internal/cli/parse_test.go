package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/repo"
)

func testApp(now time.Time) (a *App, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return &App{Streams: stdio.Streams{Stdin: strings.NewReader(""), Stdout: out, Stderr: errs, Now: func() time.Time { return now },
		Getenv: func(string) string { return "" }}}, out, errs
}

// The flags of tape log become a query; no workspace is needed.
func TestLogQuery(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "{Phase:latest}"},
		{"--all", "{}"},
		{"--anchor 002 -n 3", "{Phase:002 Tail:3}"},
		{"--after x --tail 0 --reverse", "{After:x Reverse:true Tail:0}"},
		{"-n 2", "{Phase:latest Tail:2}"},
		{"--limit 2", "{Phase:latest Limit:2}"},
		{"--kind a -n 2", "{Kinds:[a] Tail:2}"},
		{"--role user --role x", "{Roles:[user x]}"},
		{"--until 2026-01", "{Until:2026-01-31T23:59:59.999999Z}"},
		{"--anchor 002 --kind a", "{Phase:002 Kinds:[a]}"},
		{"--all --kind a --kind b", "{Kinds:[a b]}"},
		{"--all --since 2026-11-19 --until 2026-11-19", "{Since:2026-11-19T00:00:00Z Until:2026-11-19T23:59:59.999999Z}"},
		{"--since yesterday", "{Since:2026-11-19T00:00:00Z}"},
	} {
		a, _, _ := testApp(now)
		o := &logOptions{app: a}
		cmd := newLogCmdFor(o)
		if err := cmd.ParseFlags(strings.Fields(c.args)); err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		o.cmd = cmd
		q, err := o.query()
		if got := queryText(q); err != nil || got != c.want {
			t.Errorf("%s: %s, not %s (%v)", c.args, got, c.want, err)
		}
	}
}

func queryText(q repo.Query) string {
	var parts []string
	add := func(ok bool, format string, v any) {
		if ok {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add(q.Phase != "", "Phase:%v", q.Phase)
	add(q.After != "", "After:%v", q.After)
	add(len(q.Kinds) > 0, "Kinds:%v", q.Kinds)
	add(len(q.Roles) > 0, "Roles:%v", q.Roles)
	add(q.Reverse, "Reverse:%v", true)
	if q.Limit != nil {
		add(true, "Limit:%v", *q.Limit)
	}
	if q.Tail != nil {
		add(true, "Tail:%v", *q.Tail)
	}
	add(!q.Since.IsZero(), "Since:%v", q.Since.Format(time.RFC3339Nano))
	add(!q.Until.IsZero(), "Until:%v", q.Until.Format(time.RFC3339Nano))
	return "{" + strings.Join(parts, " ") + "}"
}

// Each class of errors has its exit code.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{errors.New("x"), exitFailure},
		{fmt.Errorf("a: %w", repo.ErrInvalid), exitUsage},
		{fmt.Errorf("a: %w", repo.ErrNotFound), exitNotFound},
		{repo.ErrConflict, exitConflict},
		{repo.ErrBusy, exitBusy},
		{&repo.CorruptError{File: "f"}, exitCorrupt},
		{fmt.Errorf("%w: %w", context.Canceled, repo.ErrBusy), exitInterrupted},
		{usagef("x"), exitUsage},
	} {
		if got := codeOf(c.err).code; got != c.want {
			t.Errorf("%v is exit code %d, not %d", c.err, got, c.want)
		}
	}
}

// The table of commands has their names, and every command has a short text, a run function and a check of its arguments.
func TestCommands(t *testing.T) {
	a, _, _ := testApp(time.Time{})
	root := newRoot(a, nil)
	for _, c := range commands() {
		cmd, _, err := root.Find([]string{c.name})
		if err != nil {
			t.Fatal(err)
		}
		if cmd.Name() != c.name {
			t.Errorf("%s is called %s", c.name, cmd.Name())
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || cmd.RunE == nil || cmd.Args == nil {
			t.Errorf("%s lacks a short text, a run function or a check of its arguments", c.name)
		}
	}
}
