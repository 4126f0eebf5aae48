package trace

import (
	"fmt"
	"testing"
	"time"

	"tape/internal/git/projectgit"
	"tape/repo"
)

// TestSaysLittle: a request that only agrees, or asks for a commit, is not what a turn is about.
func TestSaysLittle(t *testing.T) {
	w := newTapes(t)
	w.add("a", 0, "{}", "add a retry", "yes, please", "commit this and push it", `{"id":"1a2b3c4","subject":"x"}`)
	if got := w.found(projectgit.Commit{ID: id}); got != "recorded a 2-5 add a retry" {
		t.Errorf("the turn is %q, not that of the retry", got)
	}
	for text, want := range map[string]bool{"Yes": true, "LGTM, commit!": true, "let's go on": true, "提交": true, "继续": true, "add commit push": true,
		"commit the parser": false, "add a message": false, "yes, but rename it": false, "why?": false, "go on with the upload": false} {
		if saysLittle(text) != want {
			t.Errorf("saysLittle(%q) = %v", text, !want)
		}
	}
}

// edit appends an edit of a file, with its result.
func (w *tapes) edit(tape string, minute int, text string) {
	w.Helper()
	call := repo.Draft{Kind: repo.KindToolCall, Payload: fmt.Appendf(nil, `{"calls":[{"id":"c%d","function":{"name":"Edit","arguments":{"file_path":"/p/f.go","old_string":"old()","new_string":%q}}}]}`, minute, text)}
	result := repo.Draft{Kind: repo.KindToolResult, Payload: []byte(`{"results":["ok"]}`), Meta: fmt.Appendf(nil, `{"call_ids":["c%d"]}`, minute)}
	t, err := w.store.Tape(w.Context(), tape)
	if err != nil {
		w.Fatal(err)
	}
	for _, d := range []repo.Draft{call, result} {
		d.Date = repo.FormatDate(noon.Add(time.Duration(minute) * time.Minute))
		if _, err := t.Append(w.Context(), nil, d); err != nil {
			w.Fatal(err)
		}
	}
}

// TestEdits: a line is credited to the last edit before the commit that has it; a line that says little, or that no
// edit wrote, to none.
func TestEdits(t *testing.T) {
	w := newTapes(t)
	w.add("a", 0, "{}", "add a retry")
	w.edit("a", 1, "\tretry(upload, 3)\n}")
	w.add("b", 10, "{}", "retry more often")
	w.edit("b", 11, "retry(upload, 5)\nlog(err)")
	w.edit("a", 20, "retry(upload, 3)")
	file, err := FileNamed(t.Context(), "/p/f.go")
	if err != nil {
		t.Fatal(err)
	}
	edits, err := w.Edits(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	for _, c := range []struct {
		line         string
		since, until int
		want         string
	}{
		{"    retry(upload, 3)", 0, 5, "a 2-3 add a retry"},
		{"retry( upload,5 )", 0, 15, "b 2-3 retry more often"}, // as a formatter writes it: https://github.com/git-ai-project/git-ai/issues/725
		{"retry(upload, 5)", 0, 15, "b 2-3 retry more often"},
		{"retry(upload, 5)", 0, 5, ""},
		{"retry(upload, 3)", 0, 15, "a 2-3 add a retry"},
		{"retry(upload, 3)", 0, 25, "a 2-5 add a retry"},
		{"}", 0, 25, ""},
		{"old()", 0, 25, ""},
		{"by hand()", 0, 25, ""},
		{"log(err)", 12, 25, ""}, // it was in an earlier commit, and is nothing special
	} {
		got := ""
		if i := edits[0].WriterOf(c.line, at(c.since), at(c.until)); i >= 0 {
			turn, err := edits[0].Turn(t.Context(), i, Edited)
			if err != nil {
				t.Fatal(err)
			}
			got = fmt.Sprintf("%s %d-%d %s", turn.Tape, turn.First, turn.Last, turn.Prompt)
		}
		if got != c.want {
			t.Errorf("%q from minute %d to %d is credited to %q, not %q", c.line, c.since, c.until, got, c.want)
		}
	}
	if i := edits[0].LastIn(map[string]bool{"retry(upload,5)": true}, nil, at(0), at(25)); i != 1 {
		t.Errorf("the last edit that is in the file is %d, not 1", i)
	}
	if i := edits[0].LastIn(map[string]bool{"retry(upload,3)": true, "byhand()": true}, map[string]bool{"retry(upload,3)": true}, at(12), at(25)); i != -1 {
		t.Errorf("edit %d wrote only what was there before, and somebody else the rest", i)
	}
	if i := edits[0].LastIn(map[string]bool{"byhand()": true}, nil, at(0), at(25)); i != -1 {
		t.Errorf("edit %d is in a file that has none of its lines", i)
	}
	if i, j := edits[0].Last(at(5), at(15)), edits[0].Last(at(12), at(15)); i != 1 || j != -1 {
		t.Errorf("the last edits are %d and %d, not 1 and none", i, j)
	}
}
