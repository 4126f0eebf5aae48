package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/rows"
	"tape/internal/store/query"
	"tape/internal/testkit"
	"tape/repo"
)

// randomWorkspace makes a workspace with a random history: each of n steps changes one of its tapes and
// forks. It returns the names of the tapes and forks at the end.
func randomWorkspace(t *testing.T, rnd *rand.Rand, n int, step func(tp *repo.Tape, i int) error) (w *sandbox, names []string) {
	t.Helper()
	w = newWorkspace(t)
	store, err := repo.Open(t.Context(), w.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		tapes, err := store.Tapes(t.Context())
		forks, err2 := store.Forks(t.Context())
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		tapes = append(tapes, forks...)
		if i == n {
			for _, tp := range tapes {
				names = append(names, tp.Name())
			}
			return w, names
		}
		if err := step(tapes[rnd.IntN(len(tapes))], i); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever two forks did, taking the removed entries from one side and adding the added ones gives the
// other side, in order.
func TestDiffOfForks(t *testing.T) {
	rnd := testkit.Random(t)
	w, names := randomWorkspace(t, rnd, testkit.Size(30, 300), func(tp *repo.Tape, i int) (err error) {
		switch rnd.IntN(5) {
		case 0:
			_, err = tp.Handoff(t.Context(), repo.Anchor{Name: "phase"})
		case 1:
			_, err = tp.Fork(t.Context(), fmt.Sprint("f", i))
		default:
			_, err = tp.Append(t.Context(), nil, repo.Message("user", fmt.Sprint("text ", i)))
		}
		return err
	})
	raw := func(name string) []string {
		return strings.Split(strings.TrimSpace(w.must("--tape", name, "log", "--all", "--json")), "\n")
	}
	for range 20 {
		from, to := names[rnd.IntN(len(names))], names[rnd.IntN(len(names))]
		a, b := raw(from), raw(to)
		var added, removed []string
		for line := range strings.Lines(w.must("diff", from, to, "--json")) {
			var c struct {
				Change string
				ID     int64
				Entry  json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatal(err)
			}
			switch c.Change {
			case "added":
				added = append(added, string(c.Entry))
			case "removed":
				removed = append(removed, string(c.Entry))
			default:
				t.Errorf("%s and %s: change %q of @%d, which nobody edited", from, to, c.Change, c.ID)
			}
		}
		common := len(a) - len(removed)
		if common < 0 || !slices.Equal(a[common:], removed) || !slices.Equal(b[common:], added) {
			t.Errorf("%s and %s: %d of %d removed and %d of %d added do not lead from one to the other", from, to, len(removed), len(a), len(added), len(b))
		}
		for i := range common {
			if strings.ReplaceAll(a[i], from, "") != strings.ReplaceAll(b[i], to, "") {
				t.Errorf("%s and %s: @%d differs, and diff does not show it", from, to, i+1)
			}
		}
	}
}

// --stat adds up all changes, with tokens and calls of tools from each kind of entry that has them.
func TestDiffStat(t *testing.T) {
	w := newWorkspace(t)
	_, errs, code := w.run(`{"kind":"event","payload":{"name":"run","data":{"usage":{"input_tokens":10,"output_tokens":5}}}}
{"kind":"event","payload":{"name":"run","data":{"usage":{"total_tokens":100}}}}
{"kind":"event","payload":{"name":"note"}}
{"kind":"tool_call","payload":{"calls":[{"function":{"name":"bash"}},{"function":{"name":"edit"}},{"name":"bash"}]}}
{"kind":"message","payload":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"bash"}}]}}
`, "append", "--stdin")
	if code != exitOK {
		t.Fatal(errs)
	}
	const want = `{"from":"main 001_session-start","to":"main","entries":{"added":5,"removed":0,"edited":0},` +
		`"kinds":{"event":{"added":3,"removed":0,"edited":0},"message":{"added":1,"removed":0,"edited":0},"tool_call":{"added":1,"removed":0,"edited":0}},` +
		`"runs":{"added":2,"removed":0,"edited":0},"tokens":{"added":115,"removed":0,"edited":0},` +
		`"tools":{"bash":{"added":3,"removed":0,"edited":0},"edit":{"added":1,"removed":0,"edited":0}}}`
	if got := strings.TrimSpace(w.must("diff", "001", "--stat", "--json")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := w.must("diff", "main", "001", "--stat"); !strings.Contains(got, "tokens      -      115       -") {
		t.Errorf("no row of 115 removed tokens in\n%s", got)
	}
}

// Recorded control characters do not reach a terminal, wherever they are in an entry.
func TestDiffIsSafe(t *testing.T) {
	const bad = "\x1b]0;x\x07\u202e"
	w := newWorkspace(t)
	line, err := json.Marshal(map[string]any{"kind": "event" + bad, "payload": map[string]any{bad: bad}, "date": "2026-11-20"})
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code := w.run(string(line), "append", "--stdin"); code != exitOK {
		t.Fatal(errs)
	}
	w.must("handoff", "plan"+bad, "--summary", bad)
	a, out, _ := testApp(time.Now())
	a.Out = bufio.NewWriter(out)
	old, new := repo.Entry{Raw: []byte(`{"id":1,"kind":"a","payload":{"` + `\u001b` + `":"` + `\u001b` + `"},"date":"d"}`)}, repo.Entry{Raw: []byte(`{"id":1,"kind":"a","payload":{},"date":"d"}`)}
	v := &rows.Changes{Streams: &a.Streams, From: bad, To: bad}
	if err := v.Show(query.Change{Kind: query.ChangeEdited, Entry: new, Old: old}); err != nil {
		t.Fatal(err)
	}
	if err := a.Out.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{w.must("diff", "001"), w.must("diff", "001", "--stat"), out.String()} {
		if shown == "" || strings.ContainsAny(shown, "\x1b\x07\u202e") {
			t.Errorf("empty, or with control characters: %q", shown)
		}
	}
}
