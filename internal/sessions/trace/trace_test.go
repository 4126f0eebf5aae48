package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/index"
	"tape/internal/git/projectgit"
	"tape/internal/store/about"
	"tape/repo"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// tapes is a workspace with a finder.
type tapes struct {
	*testing.T
	store *repo.Store
	now   time.Time
	*Finder
}

func newTapes(t *testing.T) *tapes {
	t.Setenv("TAPE_AUTHOR", "Test <test@example.org>")
	w := &tapes{T: t, now: noon.Add(-24 * time.Hour)}
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), &repo.InitOptions{Options: repo.Options{Now: func() time.Time { return w.now }}})
	if err != nil {
		t.Fatal(err)
	}
	x := index.New(s, nil)
	t.Cleanup(func() { x.Close() })
	w.store = s
	w.Finder = &Finder{Store: s, Index: x, Project: "/p", Home: "/p", About: func(ctx context.Context) (map[string]about.Tape, error) { return x.About(ctx, nil) }}
	return w
}

// add appends to a tape, which is created if necessary. The first entry is dated
// the given number of minutes after noon, each following one a minute later. A text that begins with a brace is the
// event of a commit.
func (w *tapes) add(name string, minute int, meta string, texts ...string) {
	w.Helper()
	tape, err := w.store.Tape(w.Context(), name)
	if err != nil {
		w.now = noon.Add(time.Duration(minute) * time.Minute)
		tape, err = w.store.CreateTape(w.Context(), name)
	}
	if err != nil {
		w.Fatal(err)
	}
	for i, text := range texts {
		d := repo.Message("user", text)
		if strings.HasPrefix(text, "{") {
			d = repo.Draft{Kind: repo.KindEvent, Payload: json.RawMessage(`{"name":"project.commit","data":` + text + `}`)}
		}
		d.Meta, d.Date = json.RawMessage(meta), repo.FormatDate(noon.Add(time.Duration(minute+i)*time.Minute))
		if _, err := tape.Append(w.Context(), nil, d); err != nil {
			w.Fatal(err)
		}
	}
}

// found returns the turns of a commit as text.
func (w *tapes) found(c projectgit.Commit) string {
	w.Helper()
	turns, err := w.Turns(w.Context(), []projectgit.Commit{c})
	if err != nil {
		w.Fatal(err)
	}
	var out []string
	for _, t := range turns[c.ID] {
		out = append(out, fmt.Sprintf("%s %s %d-%d %s", t.How, t.Tape, t.First, t.Last, t.Prompt))
	}
	return strings.Join(out, ", ")
}

const id = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"

func TestRecorded(t *testing.T) {
	w := newTapes(t)
	w.add("a", 0, "{}", "begin", "fix the upload", `{"id":"1a2b3c4","subject":"x"}`, "go on")
	w.add("copy", 9, "{}", "fix the upload", `{"id":"`+id+`","subject":"x"}`, `{"id":"`+id+`","subject":"x"}`)
	w.add("other", 20, "{}", "commit "+id, `{"id":"1a2b3c5","subject":"x"}`, `{"id":"1a2b3c4d6","subject":"x"}`, `{"id":"","subject":"1a2b3c4"}`)
	want := "recorded a 3-4 fix the upload, recorded copy 2-3 fix the upload"
	for _, name := range []string{id, id[:20]} {
		if got := w.found(projectgit.Commit{ID: name}); got != want {
			t.Errorf("the turns of %s are %s, not %s", name, got, want)
		}
	}
	if got := w.found(projectgit.Commit{ID: id[:4]}); !strings.HasPrefix(got, want+", recorded other") {
		t.Errorf("the beginning of an id: %s", got)
	}
	if got := w.found(projectgit.Commit{ID: strings.Repeat("f", 40)}); got != "" {
		t.Errorf("an unknown commit has the turns %s", got)
	}
}

// The task of a subagent, and a text that a program wrote in the user's name, are not prompts of a person.
func TestQuestionIsAPersons(t *testing.T) {
	w := newTapes(t)
	sub := `{"context":false,"origin":{"tape":"a","fork":"agent-1","id":2}}`
	w.add("a", 0, "{}", "begin")
	w.add("a", 1, sub, "count the files", `{"id":"1a2b3c4","subject":"x"}`)
	w.add("b", 0, "{}", "begin", "<system-reminder>be careful</system-reminder>", "/clear", `{"id":"1a2b3c4","subject":"x"}`)
	w.add("c", 0, `{"context":false}`, "taken back", `{"id":"1a2b3c4","subject":"x"}`)
	w.add("d", 0, "{}", `{"id":"1a2b3c4","subject":"x"}`)
	if got := w.found(projectgit.Commit{ID: id}); got != "recorded d 1-2 , recorded c 2-3 taken back, recorded a 2-4 begin, recorded b 2-5 begin" {
		t.Errorf("the turns are %s", got)
	}
}

// An event that came with a later import belongs to the turn of its date.
func TestLateEvent(t *testing.T) {
	w := newTapes(t)
	w.add("a", 0, "{}", "begin", "fix the upload")
	w.add("a", 10, "{}", "go on", "and on")
	w.add("a", 5, "{}", `{"id":"1a2b3c4","subject":"x"}`)
	if got := w.found(projectgit.Commit{ID: id}); got != "recorded a 3-3 fix the upload" {
		t.Errorf("the turn is %s, not that of the upload", got)
	}
}

func TestProbable(t *testing.T) {
	w := newTapes(t)
	const subject = `fix: "a b" OR -c* (#12), 数据库`
	quoted, _ := json.Marshal(subject)
	w.add("a", 0, "{}", "fix it", `{"id":"9999999","subject":`+string(quoted)+`}`)
	w.add("a", 60, "{}", "fix the test", `{"id":"8888888","subject":`+string(quoted)+`}`)
	for _, c := range []struct {
		minute  int
		subject string
		want    string
	}{
		{1, subject, "probably a 2-3 fix it"},
		{10, subject, "probably a 2-3 fix it"},
		{61, subject, "probably a 4-5 fix the test"},
		{30, subject, "open a 2-3 fix it"},
		{1, "fix:", "open a 2-3 fix it"},
		{1, "", "open a 2-3 fix it"},
		{-30, subject, ""},
	} {
		commit := projectgit.Commit{ID: id, Subject: c.subject, Authored: noon.Add(time.Duration(c.minute) * time.Minute)}
		if got := w.found(commit); got != c.want {
			t.Errorf("%q at minute %d: %s, not %s", c.subject, c.minute, got, c.want)
		}
	}
}

// Of sessions that were open at once, those with the latest messages are returned.
func TestOpen(t *testing.T) {
	w := newTapes(t)
	for i := range 5 {
		w.add(fmt.Sprint("t", i), 2*i, "{}", "first", "second")
		w.add(fmt.Sprint("t", i), 100-i, "{}", "much later")
	}
	at := func(minute int) projectgit.Commit {
		return projectgit.Commit{ID: id, Subject: "x", Authored: noon.Add(time.Duration(minute) * time.Minute)}
	}
	for minute, want := range map[int]string{
		3:   "open t1 3-3 second, open t0 3-3 second",
		50:  "open t4 3-3 second, open t3 3-3 second, open t2 3-3 second",
		155: "open t0 4-4 much later, open t1 4-4 much later, open t2 4-4 much later",
		500: "",
	} {
		if got := w.found(at(minute)); got != want {
			t.Errorf("minute %d: %s, not %s", minute, got, want)
		}
	}
	for minute, want := range map[int]Reason{-1: BeforeSessions, 500: NothingRecorded} {
		if got, _, err := w.Why(t.Context(), at(minute)); err != nil || got != want {
			t.Errorf("minute %d: the reason is %v, not %v: %v", minute, got, want, err)
		}
	}
	w.dirs, w.Project = nil, "/elsewhere"
	if got, _, err := w.Why(t.Context(), at(3)); err != nil || got != NoSessions || w.found(at(3)) != "" {
		t.Errorf("another project: the reason is %v, not NoSessions, or a turn is found: %v", got, err)
	}
}

// However many commits there are, in whatever order, and however long their ids were when they
// were recorded, each has its own turn.
func TestManyCommits(t *testing.T) {
	w := newTapes(t)
	rng := rand.New(rand.NewPCG(3, 4))
	var commits []projectgit.Commit
	want := map[string]string{}
	for i := range 150 {
		c := projectgit.Commit{ID: fmt.Sprintf("%016x%016x%08x", rng.Uint64(), rng.Uint64(), rng.Uint32())}
		commits = append(commits, c)
		if i%4 == 3 {
			continue
		}
		tape := fmt.Sprint("t", rng.IntN(7))
		w.add(tape, i, "{}", fmt.Sprint("question ", i), `{"id":"`+c.ID[:7+rng.IntN(34)]+`","subject":"x"}`)
		want[c.ID] = fmt.Sprint(tape, " question ", i)
	}
	rng.Shuffle(len(commits), func(i, j int) { commits[i], commits[j] = commits[j], commits[i] })
	got, err := w.Turns(t.Context(), commits)
	if err != nil || len(got) != len(want) {
		t.Fatalf("found turns of %d commits, not of %d: %v", len(got), len(want), err)
	}
	for _, c := range commits {
		if turns := got[c.ID]; want[c.ID] != "" && (len(turns) != 1 || turns[0].Tape+" "+turns[0].Prompt != want[c.ID] || turns[0].Last != turns[0].First+1) {
			t.Errorf("%s: %+v, not %s", c.ID, turns, want[c.ID])
		}
	}
}

// An event is found by the commit's subject, whatever characters the subject has.
func TestOddSubjects(t *testing.T) {
	w := newTapes(t)
	subjects := []string{"don't panic!", "feat(api)!: x→y", "🎉", "a", "v1.2.3-rc.1", `Revert "x"`, "NOT", "--", "日本", "e\u0301té", "#123", "OR", `"`, "a*b *c", "-x -y",
		"Merge branch 'feature/x_y' of ssh://h/p", "SetReference", "ＷＩＤＥ", strings.Repeat("long ", 50) + "end", "\u202eodd"}
	for i, s := range subjects {
		quoted, _ := json.Marshal(s)
		w.add("a", 30*i, "{}", "question", `{"id":"9999999","subject":`+string(quoted)+`}`)
	}
	for i, s := range subjects {
		c := projectgit.Commit{ID: id, Subject: s, Authored: noon.Add(time.Duration(30*i+1) * time.Minute)}
		if got := w.found(c); got != fmt.Sprintf("probably a %d-%d question", 2*i+2, 2*i+3) {
			t.Errorf("the subject %q leads to %q, not to its own turn", s, got)
		}
	}
}
