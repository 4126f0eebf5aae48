package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tape/repo"
)

// The flags set the view's options; no workspace is needed.
func TestContextOptions(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "{From: NoAnchor:false Raw:false Format:openai MaxTokens:0 MaxBytes:0} all"},
		{"--from plan --no-anchor", "{From:plan NoAnchor:true Raw:false Format:openai MaxTokens:0 MaxBytes:0} all"},
		{"--raw --tail 0", "{From: NoAnchor:false Raw:true Format:openai MaxTokens:0 MaxBytes:0} 0"},
		{"--format anthropic --system --max-tokens 7 --max-bytes 9 --tail 2", "{From: NoAnchor:false Raw:false Format:anthropic MaxTokens:7 MaxBytes:9} 2"},
		{"--max-tokens 0", "--max-tokens must be at least 1"},
		{"--max-bytes -1", "--max-bytes must be at least 1"},
		{"--tail -1", "--tail must not be negative"},
		{"--system", "--system goes with --format anthropic"},
		{"--format=", "--format is empty"},
	} {
		a, _, _ := testApp(time.Time{})
		o := &contextOptions{app: a}
		cmd := newContextCmdFor(o)
		if err := cmd.ParseFlags(strings.Fields(c.args)); err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		err := o.check(cmd.Flags().Changed)
		got := o.view
		if err != nil {
			if !errors.Is(err, repo.ErrInvalid) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %s…", c.args, err, c.want)
			}
			continue
		}
		tail := "all"
		if got.Tail != nil {
			tail = fmt.Sprint(*got.Tail)
			got.Tail = nil
		}
		if text := strings.Replace(fmt.Sprintf("%+v", got), " Tail:<nil>", "", 1) + " " + tail; text != c.want {
			t.Errorf("%s: options %s, want %s", c.args, text, c.want)
		}
	}
}

// The flags of tape between become a query.
func TestBetweenQuery(t *testing.T) {
	a, _, _ := testApp(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	o := &betweenOptions{app: a}
	cmd := newBetweenCmdFor(o)
	if err := cmd.ParseFlags(strings.Fields("--inclusive --kind x --limit 3 -n 4 --reverse --since yesterday")); err != nil {
		t.Fatal(err)
	}
	q, err := o.query(cmd.Flags().Changed, a.Now())
	const want = "{Kinds:[x] Reverse:true Limit:3 Tail:4 Since:2026-11-19T00:00:00Z}"
	if got := queryText(q); err != nil || !o.inclusive || got != want {
		t.Errorf("query %s (%v), inclusive %v; want %s, inclusive", got, err, o.inclusive, want)
	}
}
